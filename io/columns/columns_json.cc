#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/columns/json_row.h"
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
      : names_(names), row_(schema), builder_(schema) {}

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
      RETURN_IF_ERROR(
          row_.Read(*query, "query", ColumnSchema::QUERY, "", &builder_));
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
    RETURN_IF_ERROR(row_.Read(candidate, place, ColumnSchema::CANDIDATE,
                              names_.label, &builder_));
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

  const LabelledNames names_;
  JsonRow row_;
  QueryBuilder builder_;
  JsonLine json_;
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
