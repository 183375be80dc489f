// JSON lines: tuples as `log export --format=jsonl` writes them, or decisions
// in the short form of docs/log_exchange.md.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/import/imported_tuple.h"
#include "client/import/importer.h"
#include "client/import/json_importer.h"
#include "client/import/json_message.h"
#include "core/base/status_macros.h"
#include "io/columns/json_row.h"
#include "io/columns/query_builder.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

// Returns the member; null where there is none, or its value is null.
const JsonValue* FindValue(const JsonValue& object, const char* name) {
  const JsonValue* value = FindMember(object, name);
  return value == nullptr || value->IsNull() ? nullptr : value;
}

class JsonlImporter : public JsonImporter {
 public:
  JsonlImporter(const config::v1::LogImportOptions& options, FileSchema schema,
                ImportSink* sink)
      : JsonImporter(options, sink), schema_(std::move(schema)) {
    if (schema_ == nullptr) return;
    row_.emplace(*schema_);
    builder_.emplace(*schema_);
  }

 private:
  absl::StatusOr<bool> Read(const JsonValue& object,
                            log::v1::BanditTuple* tuple) override {
    const JsonValue* const decision = FindMember(object, "decision");
    if (decision == nullptr) {
      RETURN_IF_ERROR(ReadShortForm(object, tuple));
      return true;
    }
    RETURN_IF_ERROR(ReadMessage(object, tuple));
    if (FindMember(*decision, "log_propensity") == nullptr &&
        FindMember(*decision, "logPropensity") == nullptr) {
      return absl::InvalidArgumentError(
          "'decision.log_propensity' is missing; protobuf's printers leave out "
          "0, which stands for probability 1, unless they are told to print "
          "fields without presence");
    }
    return true;
  }

  absl::Status ReadShortForm(const JsonValue& object,
                             log::v1::BanditTuple* tuple) {
    const JsonValue* members[4];
    const char* const names[] = {schema_ == nullptr ? "features" : "candidates",
                                 "action", "propensity", "reward"};
    for (size_t i = 0; i < std::size(names); ++i) {
      members[i] = FindMember(object, names[i]);
      if (members[i] == nullptr) {
        return absl::InvalidArgumentError(absl::StrCat(
            "'", names[i], "' is missing",
            FindMember(object, "candidates") != nullptr && schema_ == nullptr
                ? "; candidates with named columns need a schema: --features "
                  "takes a FeatureSpec whose schema names each column and its "
                  "type (docs/features.md)"
                : ""));
      }
    }
    const auto& [features, action, propensity, reward] = members;
    RETURN_IF_ERROR(CheckKeys(object));
    log::v1::Decision* decision = tuple->mutable_decision();
    RETURN_IF_ERROR(ReadId(FindValue(object, "id"), "id", decision));
    if (const JsonValue* unit = FindValue(object, "unit")) {
      ASSIGN_OR_RETURN(const absl::string_view unit_id, IdText(*unit, "unit"));
      decision->set_unit_id(unit_id.data(), unit_id.size());
    }
    if (const JsonValue* attributes = FindValue(object, "attributes")) {
      RETURN_IF_ERROR(ReadAttributes(*attributes, "attributes", decision));
    }
    if (const JsonValue* time = FindValue(object, "time")) {
      if (!IsText(*time) && !IsNumber(*time)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "time is ", Describe(*time), ", must be a number or a date"));
      }
      RETURN_IF_ERROR(sink().SetTime(TextOf(*time), "time", place(), decision));
    }
    RETURN_IF_ERROR(schema_ == nullptr
                        ? ReadFeatures(*features, decision)
                        : ReadColumns(object, *features, decision));
    RETURN_IF_ERROR(ReadAction(*action, decision));
    ASSIGN_OR_RETURN(const double p, FiniteNumber(*propensity, "propensity"));
    RETURN_IF_ERROR(SetPropensity(p, std::nullopt, decision));
    ASSIGN_OR_RETURN(const double value, FiniteNumber(*reward, "reward"));
    tuple->set_reward(value);
    tuple->set_has_feedback(true);
    return absl::OkStatus();
  }

  // A key that is misspelled must not pass unnoticed, and none be given twice.
  absl::Status CheckKeys(const JsonValue& object) {
    constexpr absl::string_view kKnown[] = {
        "id", "action", "propensity", "reward", "unit", "attributes", "time"};
    for (const auto& member : object.GetObject()) {
      const absl::string_view key = TextOf(member.name);
      const bool is_known =
          std::find(std::begin(kKnown), std::end(kKnown), key) !=
              std::end(kKnown) ||
          (schema_ == nullptr ? key == "features"
                              : key == "query" || key == "candidates");
      if (!is_known) ReportUnusedKey(key);
      if (is_known &&
          FindMember(object, std::string(key).c_str()) != &member.value) {
        return Twice(key);
      }
    }
    return absl::OkStatus();
  }

  absl::Status ReadFeatures(const JsonValue& rows,
                            log::v1::Decision* decision) {
    if (!rows.IsArray() || rows.Empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("features is ", Describe(rows),
                       ", must be an array with at least one row"));
    }
    decision->set_num_candidates(rows.Size());
    for (const JsonValue& row : rows.GetArray()) {
      RETURN_IF_ERROR(AppendFloats(row, "a row of features",
                                   decision->mutable_dense_values()));
      if (row.Size() != rows[0].Size() || row.Empty()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "features has rows of ", rows[0].Size(), " and ", row.Size(),
            " numbers, must have rows of one length, at least 1"));
      }
    }
    decision->set_num_features(rows[0].Size());
    return absl::OkStatus();
  }

  absl::Status ReadColumns(const JsonValue& object, const JsonValue& candidates,
                           log::v1::Decision* decision) {
    using model::v1::ColumnSchema;
    builder_->Start("", 0);
    if (const JsonValue* const query = FindValue(object, "query")) {
      RETURN_IF_ERROR(
          row_->Read(*query, "query", ColumnSchema::QUERY, {}, &*builder_));
    }
    if (!candidates.IsArray()) {
      return absl::InvalidArgumentError(
          absl::StrCat("candidates is ", Describe(candidates),
                       ", must be an array of objects"));
    }
    for (const JsonValue& candidate : candidates.GetArray()) {
      RETURN_IF_ERROR(row_->Read(
          candidate,
          absl::StrCat("candidates[", builder_->num_candidates(), "]"),
          ColumnSchema::CANDIDATE, {}, &*builder_));
      builder_->AddCandidate();
    }
    decision->set_num_candidates(builder_->num_candidates());
    return builder_->Finish(decision->mutable_columns());
  }

  absl::Status ReadAction(const JsonValue& action,
                          log::v1::Decision* decision) {
    if (!action.IsArray()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "action is ", Describe(action), ", must be an array of indexes"));
    }
    for (const JsonValue& value : action.GetArray()) {
      ASSIGN_OR_RETURN(const int32_t index, Integer(value, "action"));
      decision->add_action(index);
    }
    if (options().action() == "rank") {
      decision->set_action_kind(log::v1::RANK);
      decision->set_top_k(action.Size());
    } else {
      decision->set_action_kind(log::v1::SELECT);
      decision->set_can_abstain(!options().cannot_abstain());
      if (decision->can_abstain()) report().assumed.Add(kMayAbstain, place());
    }
    return absl::OkStatus();
  }

  const FileSchema schema_;
  // Set where there is a schema.
  std::optional<JsonRow> row_;
  std::optional<QueryBuilder> builder_;
};

}  // namespace

std::unique_ptr<Importer> MakeJsonlImporter(
    const config::v1::LogImportOptions& options, FileSchema schema,
    ImportSink* sink) {
  return std::make_unique<JsonlImporter>(options, std::move(schema), sink);
}

}  // namespace sortition
