#include "client/import/csv_columns.h"

#include <algorithm>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"
#include "process/command.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

struct Field {
  const char* name;
  const char* column;  // As `log export` writes it.
  int CsvColumns::*place;
};

constexpr Field kFields[] = {
    {"id", "decision_id", &CsvColumns::id},
    {"time", "time_us", &CsvColumns::time},
    {"unit", "unit_id", &CsvColumns::unit},
    {"model", "model", &CsvColumns::model},
    {"version", "version", &CsvColumns::version},
    {"kind", "action_kind", &CsvColumns::kind},
    {"index", "document_index", &CsvColumns::index},
    {"candidate", "candidate_id", &CsvColumns::candidate},
    {"eligible", "eligible", &CsvColumns::eligible},
    {"action", "chosen", &CsvColumns::action},
    {"p", "propensity", &CsvColumns::p},
    {"logp", "log_propensity", &CsvColumns::logp},
    {"conditional", "conditional_log_propensity", &CsvColumns::conditional},
    {"reward", "reward", &CsvColumns::reward},
    {"rank_reward", "rank_reward", &CsvColumns::rank_reward},
    {"feedback", "has_feedback", &CsvColumns::feedback},
    {"shown", "action_shown", &CsvColumns::shown},
    {"rank_shown", "rank_shown", &CsvColumns::rank_shown},
    {"seen", "seen_ranks", &CsvColumns::seen},
    {"abstain", "can_abstain", &CsvColumns::abstain},
    {"keep", "keep_probability", &CsvColumns::keep},
    {"censored", "censored", &CsvColumns::censored},
    {"sparse", "features", &CsvColumns::sparse},
    {"num_features", "num_features", &CsvColumns::num_features},
    {"attributes", "attributes", &CsvColumns::attributes},
    {"missing", "missing_columns", &CsvColumns::missing},
    {"absent", "absent_columns", &CsvColumns::absent},
};
constexpr char kFeatures[] = "features";
// Fields and columns of single attributes begin so.
constexpr absl::string_view kAttribute = "attribute.";

// All but these say something of the decision.
constexpr int CsvColumns::*kOfCandidate[] = {
    &CsvColumns::id,          &CsvColumns::index,      &CsvColumns::candidate,
    &CsvColumns::eligible,    &CsvColumns::action,     &CsvColumns::conditional,
    &CsvColumns::rank_reward, &CsvColumns::rank_shown, &CsvColumns::sparse,
    &CsvColumns::missing};

// The columns f0, f1, … that `log export` writes.
bool IsExportedFeature(absl::string_view column) {
  return column.size() > 1 && column[0] == 'f' &&
         std::all_of(column.begin() + 1, column.end(), absl::ascii_isdigit);
}

// What the field of a named column is called, and its column as `log export`
// writes it.
std::string FieldOf(const ColumnSchema& column) {
  return absl::StrCat(
      column.scope() == ColumnSchema::QUERY ? "query." : "candidate.",
      column.name());
}

bool IsNamedField(const Schema* schema, absl::string_view field) {
  if (schema == nullptr) return false;
  const auto& columns = schema->declared().column();
  return std::any_of(
      columns.begin(), columns.end(),
      [&](const ColumnSchema& column) { return field == FieldOf(column); });
}

bool Matches(absl::string_view pattern, absl::string_view column) {
  return absl::EndsWith(pattern, "*")
             ? absl::StartsWith(column, pattern.substr(0, pattern.size() - 1))
             : pattern == column;
}

absl::Status Missing(absl::string_view what,
                     const std::vector<absl::string_view>& header) {
  // Another delimiter leaves the whole header in one column.
  for (const char delimiter : {';', '\t', '|'}) {
    if (header.size() > 1 || !absl::StrContains(header[0], delimiter)) continue;
    const std::string name =
        delimiter == '\t' ? "tab"
                          : absl::StrCat("'", std::string(1, delimiter), "'");
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is missing; the header is one column, '",
                     Shown(header[0]), "': give --delimiter=", name));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      what, " is missing; the columns are ", Shown(absl::StrJoin(header, ", ")),
      "; --columns names them"));
}

}  // namespace

bool CsvColumns::IsUsed(int place) const {
  const auto is_place = [place](int other) { return other == place; };
  return std::any_of(
             std::begin(kFields), std::end(kFields),
             [&](const Field& field) { return this->*field.place == place; }) ||
         std::any_of(features.begin(), features.end(), is_place) ||
         std::any_of(named.begin(), named.end(), is_place) ||
         std::any_of(
             named_attributes.begin(), named_attributes.end(),
             [&](const auto& attribute) { return attribute.second == place; });
}

absl::StatusOr<CsvMapping> CsvMapping::Create(
    const config::v1::LogImportOptions& options, const Schema* schema) {
  CsvMapping mapping;
  mapping.schema_ = schema;
  mapping.by_decision_ = options.rows() == "decision";
  for (absl::string_view part :
       absl::StrSplit(options.columns(), ',', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> entry =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const bool is_known =
        entry.first == kFeatures || IsNamedField(schema, entry.first) ||
        (absl::StartsWith(entry.first, kAttribute) &&
         entry.first != kAttribute) ||
        std::any_of(std::begin(kFields), std::end(kFields),
                    [&](const Field& f) { return entry.first == f.name; });
    if (!is_known || !absl::StrContains(part, '=')) {
      return UsageError(absl::StrCat(
          "--columns has \"", part,
          "\", must be FIELD=COLUMN with a field that --help names, or FIELD= "
          "for a field that no column has"));
    }
    mapping.entries_.push_back(
        {std::string(entry.first), std::string(entry.second)});
  }
  return mapping;
}

bool CsvMapping::IsMapped(absl::string_view field) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& entry) { return entry.field == field; });
}

std::string CsvMapping::ColumnOf(absl::string_view field,
                                 absl::string_view standard) const {
  for (const Entry& entry : entries_) {
    if (entry.field == field) return entry.column;
  }
  if (by_decision_ && field == "action") return "action";
  return std::string(standard);
}

absl::Status CsvMapping::FindAttributes(
    const std::vector<absl::string_view>& header, CsvColumns* columns) const {
  const auto take = [&](absl::string_view field, size_t place) {
    columns->named_attributes.emplace_back(field.substr(kAttribute.size()),
                                           static_cast<int>(place));
    columns->shared.push_back(static_cast<int>(place));
  };
  for (const Entry& entry : entries_) {
    if (!absl::StartsWith(entry.field, kAttribute)) continue;
    const auto found = std::find(header.begin(), header.end(), entry.column);
    if (found == header.end()) {
      return Missing(absl::StrCat("column '", entry.column, "'"), header);
    }
    take(entry.field, static_cast<size_t>(found - header.begin()));
  }
  for (size_t i = 0; i < header.size(); ++i) {
    if (absl::StartsWith(header[i], kAttribute) && !IsMapped(header[i])) {
      take(header[i], i);
    }
  }
  return absl::OkStatus();
}

absl::Status CsvMapping::FindFeatures(
    const std::vector<absl::string_view>& header, CsvColumns* columns) const {
  RETURN_IF_ERROR(IsMapped(kFeatures) ? FindMappedFeatures(header, columns)
                                      : FindExportedFeatures(header, columns));
  if (!columns->features.empty() && columns->sparse >= 0) {
    return absl::InvalidArgumentError(
        "there are columns of features and one of sparse features, must be "
        "one of both; --columns=sparse= leaves that one out");
  }
  if (columns->features.empty() && columns->sparse < 0) {
    return Missing("a column of features", header);
  }
  return absl::OkStatus();
}

absl::Status CsvMapping::FindMappedFeatures(
    const std::vector<absl::string_view>& header, CsvColumns* columns) const {
  std::vector<bool> has_match(entries_.size(), false);
  for (size_t i = 0; i < header.size(); ++i) {
    bool is_feature = false;
    for (size_t k = 0; k < entries_.size(); ++k) {
      const Entry& entry = entries_[k];
      if (entry.field != kFeatures || !Matches(entry.column, header[i])) {
        continue;
      }
      // A pattern does not mean the columns that are something else.
      if (entry.column != header[i] && columns->IsUsed(static_cast<int>(i))) {
        continue;
      }
      has_match[k] = true;
      is_feature = true;
    }
    if (is_feature) columns->features.push_back(static_cast<int>(i));
  }
  for (size_t k = 0; k < entries_.size(); ++k) {
    if (entries_[k].field == kFeatures && !has_match[k]) {
      return Missing(
          absl::StrCat("column '", entries_[k].column,
                       "' of --columns=features=", entries_[k].column),
          header);
    }
  }
  return absl::OkStatus();
}

absl::Status CsvMapping::FindExportedFeatures(
    const std::vector<absl::string_view>& header, CsvColumns* columns) const {
  // By number: programs that sort names put f10 before f2.
  std::map<uint64_t, int> by_number;
  for (size_t i = 0; i < header.size(); ++i) {
    uint64_t number = 0;
    if (!IsExportedFeature(header[i]) ||
        !ParseNumber(header[i].substr(1), &number)) {
      continue;
    }
    if (!by_number.emplace(number, static_cast<int>(i)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("column '", Shown(header[i]),
                       "' is there twice, must be there once"));
    }
  }
  for (const auto& [number, place] : by_number) {
    if (number != columns->features.size()) {
      return Missing(absl::StrCat("column 'f", columns->features.size(), "'"),
                     header);
    }
    columns->features.push_back(place);
  }
  return absl::OkStatus();
}

absl::Status CsvMapping::FindNamed(const std::vector<absl::string_view>& header,
                                   CsvColumns* columns) const {
  const auto find = [&](absl::string_view name) {
    const auto found = std::find(header.begin(), header.end(), name);
    return found == header.end() ? -1
                                 : static_cast<int>(found - header.begin());
  };
  const auto is_taken = [&](int place) {
    return std::any_of(
        std::begin(kFields), std::end(kFields),
        [&](const Field& field) { return columns->*field.place == place; });
  };
  for (const ColumnSchema& column : schema_->declared().column()) {
    const std::string field = FieldOf(column);
    const std::string standard = ColumnOf(field, field);
    int place = find(standard);
    if (place < 0 && !IsMapped(field)) {
      place = find(column.name());
      if (is_taken(place)) place = -1;  // It is another field.
    }
    const bool is_needed =
        IsMapped(field) ||
        column.if_absent_case() == ColumnSchema::IF_ABSENT_NOT_SET;
    if (place < 0 && is_needed) {
      return Missing(absl::StrCat("column '", standard, "'"), header);
    }
    columns->named.push_back(place);
    if (place >= 0 && column.scope() == ColumnSchema::QUERY) {
      columns->shared.push_back(place);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<CsvColumns> CsvMapping::Resolve(
    const std::vector<absl::string_view>& header) const {
  CsvColumns columns;
  columns.width = header.size();
  for (const Field& field : kFields) {
    const std::string column = ColumnOf(field.name, field.column);
    const auto found = column.empty()
                           ? header.end()
                           : std::find(header.begin(), header.end(), column);
    if (found != header.end()) {
      columns.*field.place = static_cast<int>(found - header.begin());
    } else if (IsMapped(field.name) && !column.empty()) {
      return Missing(absl::StrCat("column '", column, "'"), header);
    }
  }
  for (const Field& field : kFields) {
    const bool is_needed = field.place == &CsvColumns::action ||
                           field.place == &CsvColumns::reward ||
                           (field.place == &CsvColumns::id && !by_decision_) ||
                           (field.place == &CsvColumns::p && columns.logp < 0);
    if (is_needed && columns.*field.place < 0) {
      return Missing(
          absl::StrCat("column '", ColumnOf(field.name, field.column), "' (",
                       field.name, ")"),
          header);
    }
  }
  for (const Field& field : kFields) {
    const bool is_shared =
        std::find(std::begin(kOfCandidate), std::end(kOfCandidate),
                  field.place) == std::end(kOfCandidate);
    if (is_shared && columns.*field.place >= 0) {
      columns.shared.push_back(columns.*field.place);
    }
  }
  RETURN_IF_ERROR(FindAttributes(header, &columns));
  RETURN_IF_ERROR(schema_ == nullptr ? FindFeatures(header, &columns)
                                     : FindNamed(header, &columns));
  return columns;
}

}  // namespace sortition
