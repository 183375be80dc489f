// Rows of JSON: {"decision_id": "d1", "reward": 1}
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/text/json_line.h"
#include "trainer/decision_files/row_formats.h"

namespace sortition::internal {
namespace {

class JsonRows : public DecisionRows {
 public:
  JsonRows(std::string path, std::unique_ptr<InputLines> lines)
      : DecisionRows(std::move(path)), lines_(std::move(lines)) {}

  absl::StatusOr<bool> Next() override {
    InputLine line;
    do {
      ASSIGN_OR_RETURN(const bool has_line, lines_->Next(&line));
      if (!has_line) return false;
    } while (line.size == 0);
    line_ = line.number;
    const auto object = json_.Parse(line);
    if (!object.ok()) return Wrong(object.status().message());
    object_ = *object;
    RETURN_IF_ERROR(CheckNotEnded());
    const JsonValue* const id = FindMember(*object_, "decision_id");
    const JsonValue* const through = FindMember(*object_, "through");
    if (id == nullptr && through != nullptr) {
      const auto time = Text(*through, "through");
      if (!time.ok()) return Wrong(time.status().message());
      through_ = std::string(*time);
      return Next();
    }
    if (id == nullptr) return Wrong("decision_id is missing");
    const auto text = IdText(*id, "decision_id");
    if (!text.ok()) return Wrong(text.status().message());
    if (text->empty()) return Wrong("decision_id is empty");
    decision_id_ = *text;
    return true;
  }

  absl::StatusOr<std::optional<double>> Number(
      absl::string_view name) const override {
    const JsonValue* const member =
        FindMember(*object_, std::string(name).c_str());
    if (member == nullptr) return std::nullopt;
    const auto number = FiniteNumber(*member, name);
    if (!number.ok()) return Wrong(number.status().message());
    return *number;
  }

  absl::StatusOr<bool> Numbers(absl::string_view name, absl::string_view,
                               std::vector<double>* numbers) const override {
    numbers->clear();
    const JsonValue* const member =
        FindMember(*object_, std::string(name).c_str());
    if (member == nullptr) return false;
    if (!member->IsArray()) {
      return Wrong(absl::StrCat(name, " is ", Describe(*member),
                                ", must be an array of numbers"));
    }
    for (const JsonValue& value : member->GetArray()) {
      const auto number =
          FiniteNumber(value, absl::StrCat(name, "[", numbers->size(), "]"));
      if (!number.ok()) return Wrong(number.status().message());
      numbers->push_back(*number);
    }
    return true;
  }

 private:
  const std::unique_ptr<InputLines> lines_;
  JsonLine json_;
  const JsonValue* object_ = nullptr;
};

}  // namespace

std::unique_ptr<DecisionRows> MakeJsonRows(std::string path,
                                           std::unique_ptr<InputLines> lines) {
  return std::make_unique<JsonRows>(std::move(path), std::move(lines));
}

}  // namespace sortition::internal
