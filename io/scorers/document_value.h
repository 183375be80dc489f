#pragma once
// A value of a JSON-like document, and where it stands: what JSON and UBJSON
// model files are read into.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

struct DocumentValue;
struct DocumentMember;

// Arrays of numbers, and empty ones; true and false in arrays are 1 and 0.
using DocumentNumbers = std::vector<double>;
using DocumentArray = std::vector<DocumentValue>;
using DocumentObject = std::vector<DocumentMember>;

struct DocumentValue {
  size_t offset = 0;  // The byte at which it begins.
  std::variant<std::monostate, bool, double, std::string, DocumentNumbers,
               DocumentArray, DocumentObject>
      content;
};

struct DocumentMember {
  std::string name;
  DocumentValue value;
};

// What a value is, for messages: "an object", "46".
std::string Describe(const DocumentValue& value);

// A value and the way to it from the root, as in "learner.trees[3].id". The
// errors below are InvalidArgument and name it with its byte.
struct DocumentField {
  const DocumentValue* value = nullptr;
  std::string path = {};

  absl::Status Wrong(absl::string_view permitted) const;
  // Of item `index` of an array of numbers: "path[7] = 46, must be below 46".
  absl::Status WrongNumber(size_t index, absl::string_view permitted) const;

  bool Has(absl::string_view name) const;
  absl::StatusOr<DocumentField> Member(absl::string_view name) const;
  absl::StatusOr<absl::string_view> Text() const;
  absl::StatusOr<std::span<const double>> Numbers() const;
  // An array that is not empty has no numbers.
  absl::StatusOr<std::vector<DocumentField>> Items() const;
  // An integer in [min, max], also one written as text.
  absl::StatusOr<int64_t> Integer(int64_t min, int64_t max) const;
};

// Builds a document from its parts in the order of the file. Each function
// returns false where the document is beyond a limit or has an array of numbers
// and other things; problem() says which.
class DocumentBuilder {
 public:
  bool Null(size_t offset) { return Add({offset, std::monostate()}); }
  bool Bool(size_t offset, bool value);
  bool Number(size_t offset, double value);
  bool Text(size_t offset, absl::string_view text) {
    return Add({offset, std::string(text)});
  }
  bool AllNumbers(size_t offset, DocumentNumbers numbers) {
    return Add({offset, std::move(numbers)});
  }
  bool BeginObject(size_t offset) {
    return Add({offset, DocumentObject()}) && Open();
  }
  void Key(absl::string_view name) { key_ = std::string(name); }
  bool BeginArray(size_t offset) {
    return Add({offset, DocumentNumbers()}) && Open();
  }
  // Ends the object or array that was begun last.
  void End() { open_.pop_back(); }

  absl::string_view problem() const { return problem_; }
  DocumentValue Take() { return std::move(root_); }

 private:
  // Adds to what was begun last and leaves it in last_.
  bool Add(DocumentValue value);
  bool Open();

  DocumentValue root_;
  // Nothing is added to a value while a part of it is open, so that pointers
  // stay valid.
  std::vector<DocumentValue*> open_;
  DocumentValue* last_ = nullptr;
  std::string key_;
  size_t num_values_ = 0;
  absl::string_view problem_;
};

}  // namespace sortition
