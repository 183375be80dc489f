#pragma once
// Writes documents as UBJSON.
#include <bit>
#include <cstdint>
#include <string>

#include "io/scorers/document_value.h"

namespace sortition {

template <typename Bits>
std::string BigEndian(Bits bits) {
  std::string text;
  for (size_t i = sizeof(Bits); i-- > 0;) {
    text += static_cast<char>(bits >> (8 * i));
  }
  return text;
}

inline std::string UbjsonLength(size_t length) {
  return "L" + BigEndian(static_cast<uint64_t>(length));
}

// `typed`: numbers of arrays share one marker, as XGBoost writes them; else
// each has its own, and the end of every array is marked.
inline std::string UbjsonOf(const DocumentValue& value, bool typed) {
  struct Visitor {
    bool typed;
    std::string operator()(std::monostate) const { return "Z"; }
    std::string operator()(bool truth) const { return truth ? "T" : "F"; }
    std::string operator()(double number) const {
      return "D" + BigEndian(std::bit_cast<uint64_t>(number));
    }
    std::string operator()(const std::string& text) const {
      return "S" + UbjsonLength(text.size()) + text;
    }
    std::string operator()(const DocumentNumbers& numbers) const {
      std::string text = typed ? "[$d#" + UbjsonLength(numbers.size()) : "[";
      for (const double number : numbers) {
        text +=
            typed
                ? BigEndian(std::bit_cast<uint32_t>(static_cast<float>(number)))
                : (*this)(number);
      }
      return typed ? text : text + "]";
    }
    std::string operator()(const DocumentArray& items) const {
      std::string text = typed ? "[#" + UbjsonLength(items.size()) : "[";
      for (const DocumentValue& item : items) text += UbjsonOf(item, typed);
      return typed ? text : text + "]";
    }
    std::string operator()(const DocumentObject& members) const {
      std::string text = "{";
      for (const auto& [name, member] : members) {
        text += UbjsonLength(name.size()) + name + UbjsonOf(member, typed);
      }
      return text + "}";
    }
  };
  return std::visit(Visitor{typed}, value.content);
}

}  // namespace sortition
