#include "client/import/json_importer.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/import/imported_tuple.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"

namespace sortition {

void JsonImporter::Line(const InputLine& line, const InputPlace& place) {
  place_ = place;
  line_hash_ = HashBytes(line.text());
  if (IsMarker(line.text())) return;
  // A file that is one JSON array is a common form of the same records.
  const absl::string_view text = absl::StripLeadingAsciiWhitespace(line.text());
  if (absl::StartsWith(text, "[{") || text == "[") {
    return sink_->Fail(
        place, absl::InvalidArgumentError(
                   "the file is a JSON array, must have one JSON object on "
                   "each line; jq -c '.[]' FILE converts it"));
  }
  log::v1::BanditTuple* const tuple = record_.mutable_tuple();
  tuple->Clear();
  const auto object = json_.Parse(line);
  if (!object.ok()) return sink_->Bad(place, object.status());
  const absl::StatusOr<bool> is_decision = Read(**object, tuple);
  if (!is_decision.ok()) return sink_->Bad(place, is_decision.status());
  if (!*is_decision) return;
  SetModel(options_, tuple->mutable_decision());
  sink_->Add(record_, place);
}

absl::Status JsonImporter::ReadId(const JsonValue* id, absl::string_view name,
                                  log::v1::Decision* decision) {
  if (id == nullptr) {
    sink_->MakeUpId(absl::StrCat(place_.file, ":", place_.line), line_hash_,
                    place_, decision);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const absl::string_view text, IdText(*id, name));
  decision->set_decision_id(text.data(), text.size());
  return absl::OkStatus();
}

absl::Status JsonImporter::Twice(absl::string_view key) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the key '", Shown(key), "' is there twice, must be there once"));
}

void JsonImporter::ReportUnusedKey(absl::string_view key) {
  report().ignored.Add(absl::StrCat("values of the key '", Shown(key), "'"),
                       place_);
}

}  // namespace sortition
