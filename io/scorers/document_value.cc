#include "io/scorers/document_value.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "core/base/field_range.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

// Limits of a document besides its bytes. Numbers of arrays are not counted.
constexpr size_t kMaxValues = 2'000'000;
constexpr size_t kMaxDepth = 64;

}  // namespace

std::string Describe(const DocumentValue& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool truth) const {
      return truth ? "true" : "false";
    }
    std::string operator()(double number) const { return NumberText(number); }
    std::string operator()(const std::string& text) const {
      return absl::StrCat("\"", Shown(text), "\"");
    }
    std::string operator()(const DocumentNumbers& numbers) const {
      return absl::StrCat("an array of ", numbers.size(), " numbers");
    }
    std::string operator()(const DocumentArray& items) const {
      return absl::StrCat("an array of ", items.size());
    }
    std::string operator()(const DocumentObject&) const { return "an object"; }
  };
  return std::visit(Visitor(), value.content);
}

absl::Status DocumentField::Wrong(absl::string_view permitted) const {
  return absl::InvalidArgumentError(absl::StrCat(
      path.empty() ? "the document" : path, " = ", Describe(*value),
      ", must be ", permitted, " (byte ", value->offset, ")"));
}

absl::Status DocumentField::WrongNumber(size_t index,
                                        absl::string_view permitted) const {
  const auto* const numbers = std::get_if<DocumentNumbers>(&value->content);
  return absl::InvalidArgumentError(absl::StrCat(
      path, "[", index, "] = ", NumberText((*numbers)[index]), ", must be ",
      permitted, " (array at byte ", value->offset, ")"));
}

bool DocumentField::Has(absl::string_view name) const {
  const auto* const members = std::get_if<DocumentObject>(&value->content);
  if (members == nullptr) return false;
  for (const DocumentMember& member : *members) {
    if (member.name == name) return true;
  }
  return false;
}

absl::StatusOr<DocumentField> DocumentField::Member(
    absl::string_view name) const {
  const auto* const members = std::get_if<DocumentObject>(&value->content);
  if (members == nullptr) return Wrong("an object");
  const std::string member_path =
      path.empty() ? std::string(name) : absl::StrCat(path, ".", name);
  for (const DocumentMember& member : *members) {
    if (member.name == name) return DocumentField{&member.value, member_path};
  }
  return absl::InvalidArgumentError(
      absl::StrCat(member_path, " is absent, must be in the object at byte ",
                   value->offset));
}

absl::StatusOr<absl::string_view> DocumentField::Text() const {
  const auto* const text = std::get_if<std::string>(&value->content);
  if (text == nullptr) return Wrong("a text");
  return absl::string_view(*text);
}

absl::StatusOr<std::span<const double>> DocumentField::Numbers() const {
  const auto* const numbers = std::get_if<DocumentNumbers>(&value->content);
  if (numbers == nullptr) return Wrong("an array of numbers");
  return std::span<const double>(*numbers);
}

absl::StatusOr<std::vector<DocumentField>> DocumentField::Items() const {
  const auto* const numbers = std::get_if<DocumentNumbers>(&value->content);
  if (numbers != nullptr && numbers->empty()) {
    return std::vector<DocumentField>();
  }
  const auto* const items = std::get_if<DocumentArray>(&value->content);
  if (items == nullptr) return Wrong("an array without numbers");
  std::vector<DocumentField> fields;
  for (size_t i = 0; i < items->size(); ++i) {
    fields.push_back({&(*items)[i], absl::StrCat(path, "[", i, "]")});
  }
  return fields;
}

absl::StatusOr<int64_t> DocumentField::Integer(int64_t min, int64_t max) const {
  int64_t integer = 0;
  bool is_integer = false;
  if (const auto* text = std::get_if<std::string>(&value->content)) {
    is_integer = ParseNumber(*text, &integer);
  } else if (const auto* number = std::get_if<double>(&value->content)) {
    is_integer = std::abs(*number) < 9e15 && std::trunc(*number) == *number;
    if (is_integer) integer = static_cast<int64_t>(*number);
  }
  if (!is_integer || integer < min || integer > max) {
    return Wrong(min == max
                     ? absl::StrCat(min)
                     : absl::StrCat("an integer in [", min, ", ", max, "]"));
  }
  return integer;
}

bool DocumentBuilder::Bool(size_t offset, bool value) {
  const bool in_array =
      !open_.empty() &&
      !std::holds_alternative<DocumentObject>(open_.back()->content);
  return in_array ? Number(offset, value ? 1 : 0) : Add({offset, value});
}

bool DocumentBuilder::Number(size_t offset, double value) {
  if (!open_.empty()) {
    auto* const numbers = std::get_if<DocumentNumbers>(&open_.back()->content);
    if (numbers != nullptr) {
      numbers->push_back(value);
      return true;
    }
  }
  if (!open_.empty() &&
      std::holds_alternative<DocumentArray>(open_.back()->content)) {
    problem_ = "an array has numbers and other values";
    return false;
  }
  return Add({offset, value});
}

bool DocumentBuilder::Add(DocumentValue value) {
  if (++num_values_ > kMaxValues) {
    problem_ = "the document has more than 2000000 values";
    return false;
  }
  if (open_.empty()) {
    root_ = std::move(value);
    last_ = &root_;
    return true;
  }
  auto& content = open_.back()->content;
  if (auto* members = std::get_if<DocumentObject>(&content)) {
    members->push_back({std::move(key_), std::move(value)});
    last_ = &members->back().value;
    return true;
  }
  if (const auto* numbers = std::get_if<DocumentNumbers>(&content)) {
    if (!numbers->empty()) {
      problem_ = "an array has numbers and other values";
      return false;
    }
    content = DocumentArray();
  }
  auto& items = std::get<DocumentArray>(content);
  items.push_back(std::move(value));
  last_ = &items.back();
  return true;
}

bool DocumentBuilder::Open() {
  open_.push_back(last_);
  if (open_.size() <= kMaxDepth) return true;
  problem_ = "the document is nested deeper than 64 levels";
  return false;
}

}  // namespace sortition
