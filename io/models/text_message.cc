#include "io/models/text_message.h"

#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/nearest_name.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace sortition {
namespace {

using google::protobuf::Descriptor;

// Keeps the first error. By default the library would print it.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (!text_.empty()) return;
    text_ =
        absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Returns what is between the first pair of quotes behind `prefix`; empty if
// `text` has no such prefix.
std::string QuotedBehind(absl::string_view text, absl::string_view prefix) {
  const size_t begin = text.find(prefix);
  if (begin == absl::string_view::npos) return "";
  text.remove_prefix(begin + prefix.size());
  const size_t open = text.find('"');
  if (open == absl::string_view::npos) return "";
  return std::string(
      text.substr(open + 1, text.find('"', open + 1) - open - 1));
}

// Returns the one of `names` that is nearest to `name`, as a question; empty if
// none is near.
std::string DidYouMean(const std::string& name,
                       const std::vector<std::string>& names) {
  std::string nearest;
  size_t best = MaxMisspelling(name) + 1;
  for (const std::string& known : names) {
    const size_t distance = EditDistance(name, known);
    if (distance >= best) continue;
    best = distance;
    nearest = known;
  }
  return nearest.empty() ? ""
                         : absl::StrCat(" Did you mean \"", nearest, "\"?");
}

void AddEnumValues(const Descriptor& type, const std::string& field,
                   std::vector<std::string>* names) {
  const google::protobuf::FieldDescriptor* const found =
      type.FindFieldByName(field);
  if (found != nullptr && found->enum_type() != nullptr) {
    for (int i = 0; i < found->enum_type()->value_count(); ++i) {
      names->push_back(found->enum_type()->value(i)->name());
    }
  }
  for (int i = 0; i < type.nested_type_count(); ++i) {
    AddEnumValues(*type.nested_type(i), field, names);
  }
}

// Returns a hint at the name that was probably meant, from the words of the
// library's parser; empty if there is none.
std::string Hint(const std::string& error, const Descriptor& type) {
  std::vector<std::string> names;
  const std::string field = QuotedBehind(error, "has no field named");
  if (!field.empty()) {
    const Descriptor* const parent = type.file()->pool()->FindMessageTypeByName(
        QuotedBehind(error, "Message type"));
    if (parent == nullptr) return "";
    for (int i = 0; i < parent->field_count(); ++i) {
      names.push_back(parent->field(i)->name());
    }
    return DidYouMean(field, names);
  }
  const std::string value = QuotedBehind(error, "enumeration value of");
  if (value.empty()) return "";
  const std::string of = QuotedBehind(error, "for field");
  for (int i = 0; i < type.file()->message_type_count(); ++i) {
    AddEnumValues(*type.file()->message_type(i), of, &names);
  }
  return DidYouMean(value, names);
}

// Returns the first error; empty: there is none.
std::string Parse(const std::string& text, google::protobuf::Message* message) {
  FirstError error;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  if (parser.ParseFromString(text, message)) return "";
  return error.text().empty() ? "cannot be parsed" : error.text();
}

}  // namespace

absl::Status ParseTextMessage(const std::string& path, absl::string_view what,
                              const std::string& text,
                              google::protobuf::Message* message) {
  const std::string error = Parse(text, message);
  if (error.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path, " is not ", what, ": ", error));
}

absl::Status ParseUserMessage(const std::string& path, absl::string_view what,
                              const std::string& text,
                              google::protobuf::Message* message) {
  const std::string error = Parse(text, message);
  if (error.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is not ", what, ": ", error,
                   Hint(error, *message->GetDescriptor())));
}

}  // namespace sortition
