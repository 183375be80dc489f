#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/columns/labelled_columns.h"
#include "io/columns/query_builder.h"
#include "io/text/input_lines.h"
#include "io/text/json_line.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

class JsonReader {
 public:
  JsonReader(const Schema& schema, const LabelledNames& names)
      : schema_(schema), names_(names), builder_(schema) {}

  absl::Status Add(const InputLine& line) {
    ASSIGN_OR_RETURN(const JsonValue* const object, json_.Parse(line));
    for (const auto& member : object->GetObject()) {
      const absl::string_view name = TextOf(member.name);
      if (name == "id" || name == "query" || name == "candidates") continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "member '", Shown(name), "' must be id, query or candidates"));
    }
    std::string id;
    if (const JsonValue* const value = FindMember(*object, "id")) {
      ASSIGN_OR_RETURN(const absl::string_view text, Text(*value, "id"));
      id = std::string(text);
    }
    builder_.Start(std::move(id), line.number);
    if (const JsonValue* const query = FindMember(*object, "query")) {
      RETURN_IF_ERROR(AddRow(*query, "query", ColumnSchema::QUERY));
    }
    const JsonValue* const candidates = FindMember(*object, "candidates");
    if (candidates == nullptr || !candidates->IsArray()) {
      return absl::InvalidArgumentError(
          "candidates must be there, an array of objects");
    }
    for (const JsonValue& candidate : candidates->GetArray()) {
      RETURN_IF_ERROR(AddCandidate(candidate));
    }
    return builder_.Finish(&queries_);
  }

  std::vector<LabelledColumns> Take() { return std::move(queries_); }

 private:
  absl::Status AddCandidate(const JsonValue& candidate) {
    const std::string place =
        absl::StrCat("candidates[", builder_.num_candidates(), "]");
    RETURN_IF_ERROR(AddRow(candidate, place, ColumnSchema::CANDIDATE));
    uint32_t relevance = 0;
    const JsonValue* const label = FindMember(candidate, names_.label.c_str());
    if (label != nullptr) {
      const auto parsed =
          ParseRelevance(IsNumber(*label) ? TextOf(*label) : Describe(*label));
      if (!parsed.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat(place, ": ", parsed.status().message()));
      }
      relevance = *parsed;
    }
    builder_.AddCandidate(relevance);
    return absl::OkStatus();
  }

  // Adds the members of an object: columns of this scope.
  absl::Status AddRow(const JsonValue& object, const std::string& place,
                      ColumnSchema::Scope scope) {
    if (!object.IsObject()) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, " is ", Describe(object), ", must be an object"));
    }
    seen_.assign(schema_.size(), false);
    for (const auto& member : object.GetObject()) {
      const absl::string_view name = TextOf(member.name);
      if (scope == ColumnSchema::CANDIDATE && name == names_.label) continue;
      const std::string path = absl::StrCat(place, ".", Shown(name));
      const auto column = schema_.Find(name);
      if (!column.has_value() || schema_.column(*column).scope() != scope) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, " is not a column of the schema's scope ",
                         ColumnSchema::Scope_Name(scope)));
      }
      if (seen_[*column]) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, " is there twice, must be once"));
      }
      seen_[*column] = true;
      if (!member.value.IsNull()) {
        RETURN_IF_ERROR(AddValue(*column, path, member.value));
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddValue(size_t column, const std::string& path,
                        const JsonValue& value) {
    switch (schema_.column(column).type()) {
      case ColumnSchema::NUMBER: {
        ASSIGN_OR_RETURN(const double number, FiniteNumber(value, path));
        builder_.SetNumber(column, number);
        return absl::OkStatus();
      }
      case ColumnSchema::CATEGORY_SET: {
        if (!value.IsArray()) {
          return absl::InvalidArgumentError(absl::StrCat(
              path, " is ", Describe(value), ", must be an array of strings"));
        }
        std::vector<absl::string_view> values;
        for (const JsonValue& each : value.GetArray()) {
          ASSIGN_OR_RETURN(const absl::string_view text, Text(each, path));
          values.push_back(text);
        }
        builder_.SetSet(column, values);
        return absl::OkStatus();
      }
      case ColumnSchema::VECTOR: {
        google::protobuf::RepeatedField<float> numbers;
        RETURN_IF_ERROR(AppendFloats(value, path, &numbers));
        return builder_.SetVector(
            column, {numbers.data(), static_cast<size_t>(numbers.size())});
      }
      default: {
        ASSIGN_OR_RETURN(const absl::string_view text, Text(value, path));
        builder_.SetText(column, text);
        return absl::OkStatus();
      }
    }
  }

  const Schema& schema_;
  const LabelledNames names_;
  QueryBuilder builder_;
  JsonLine json_;
  std::vector<bool> seen_;  // Columns of the object.
  std::vector<LabelledColumns> queries_;
};

}  // namespace

absl::StatusOr<std::vector<LabelledColumns>> ReadColumnsJson(
    const std::string& path, const Schema& schema, const LabelledNames& names) {
  ASSIGN_OR_RETURN(const auto lines, InputLines::Open(path, false));
  JsonReader reader(schema, names);
  InputLine line;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, lines->Next(&line));
    if (!more) return reader.Take();
    if (line.size == 0) continue;
    RETURN_IF_ERROR(AtLine(reader.Add(line), path, line.number));
  }
}

}  // namespace sortition
