#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/columns/json_row.h"
#include "io/columns/labelled_columns.h"
#include "io/columns/line_reader.h"
#include "io/text/json_line.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

class JsonReader : public LineReader {
 public:
  JsonReader(const std::string& path, std::unique_ptr<InputLines> lines,
             const Schema& schema, const LabelledNames& names)
      : LineReader(path, std::move(lines), schema),
        names_(names),
        ignored_{names_.label},
        row_(schema, /*skips_others=*/true) {
    if (!names_.id.empty() && !schema.Find(names_.id).has_value()) {
      ignored_.push_back(names_.id);
    }
  }

 private:
  absl::Status Add(const InputLine& line) override {
    if (line.size == 0) return absl::OkStatus();
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
          row_.Read(*query, "query", ColumnSchema::QUERY, {}, &builder_));
    }
    const JsonValue* const candidates = FindMember(*object, "candidates");
    if (candidates == nullptr || !candidates->IsArray()) {
      return absl::InvalidArgumentError(
          "candidates must be there, an array of objects");
    }
    for (const JsonValue& candidate : candidates->GetArray()) {
      RETURN_IF_ERROR(AddCandidate(candidate));
    }
    return FinishQuery();
  }

  absl::Status AddCandidate(const JsonValue& candidate) {
    const std::string place =
        absl::StrCat("candidates[", builder_.num_candidates(), "]");
    RETURN_IF_ERROR(row_.Read(candidate, place, ColumnSchema::CANDIDATE,
                              ignored_, &builder_));
    if (!names_.id.empty()) {
      const JsonValue* const id = FindMember(candidate, names_.id.c_str());
      if (id != nullptr) {
        ASSIGN_OR_RETURN(const absl::string_view text,
                         IdText(*id, absl::StrCat(place, ".", names_.id)));
        builder_.SetCandidateId(text);
      }
    }
    const JsonValue* const label = FindMember(candidate, names_.label.c_str());
    if (label == nullptr) {
      builder_.AddUnlabelledCandidate();
      return absl::OkStatus();
    }
    const auto relevance =
        ParseRelevance(IsNumber(*label) ? TextOf(*label) : Describe(*label));
    if (!relevance.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(place, ": ", relevance.status().message()));
    }
    builder_.AddCandidate(*relevance);
    return absl::OkStatus();
  }

  const LabelledNames names_;
  std::vector<absl::string_view> ignored_;  // Views of names_.
  JsonRow row_;
  JsonLine json_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LabelledColumnsReader>> OpenColumnsJson(
    const std::string& path, const Schema& schema, const LabelledNames& names) {
  ASSIGN_OR_RETURN(auto lines, InputLines::Open(path, false));
  return std::make_unique<JsonReader>(path, std::move(lines), schema, names);
}

absl::StatusOr<std::vector<LabelledColumns>> ReadColumnsJson(
    const std::string& path, const Schema& schema, const LabelledNames& names) {
  return ReadAll(OpenColumnsJson(path, schema, names));
}

}  // namespace sortition
