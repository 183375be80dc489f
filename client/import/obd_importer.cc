// The CSV of the Open Bandit Dataset: a line says which item was shown at which
// position, with what probability, and whether it was clicked.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/import/dsjson_features.h"
#include "client/import/imported_tuple.h"
#include "client/import/importer.h"
#include "client/import/obd_items.h"
#include "core/base/status_macros.h"
#include "io/text/csv_record.h"
#include "io/text/parse_number.h"
#include "process/command.h"

namespace sortition {
namespace {

constexpr absl::string_view kAffinity = "user-item_affinity_";
constexpr absl::string_view kUserFeature = "user_feature_";

// Sorts few columns without branches, which could not be predicted.
void SortColumns(std::span<const uint32_t> columns,
                 std::vector<uint32_t>* sorted) {
  constexpr size_t kMostWithoutBranches = 12;
  sorted->assign(columns.begin(), columns.end());
  if (columns.size() > kMostWithoutBranches) {
    std::sort(sorted->begin(), sorted->end());
    return;
  }
  for (size_t i = 0; i < columns.size(); ++i) {
    size_t rank = 0;
    for (size_t j = 0; j < columns.size(); ++j) {
      rank += static_cast<size_t>(columns[j] < columns[i]) |
              (static_cast<size_t>(columns[j] == columns[i]) &
               static_cast<size_t>(j < i));
    }
    (*sorted)[rank] = columns[i];
  }
}

class ObdImporter : public Importer {
 public:
  ObdImporter(const config::v1::LogImportOptions& options,
              std::optional<ObdItems> items, ImportSink* sink)
      : options_(options), items_(std::move(items)), sink_(sink) {}

  void BeginFile() override { header_.clear(); }

  void Line(const InputLine& line, const InputPlace& place) override {
    absl::Status status = SplitCsvRecord(line, &fields_);
    if (header_.empty()) {
      if (status.ok()) status = TakeHeader();
      if (!status.ok()) return sink_->Fail(place, status);
      ReportUnusedColumns(place);
      return;
    }
    ++rows_;
    bool is_wanted = true;
    if (status.ok()) status = Read(place, &is_wanted);
    if (!status.ok()) {
      // A wrong quote joins lines that would have been decisions.
      for (uint64_t i = 0; i < line.lines; ++i) sink_->Bad(place, status);
      return;
    }
    if (is_wanted) return sink_->Add(record_, place);
    sink_->report().left_out.Add("lines of other positions (--position)",
                                 place);
  }

 private:
  absl::Status TakeHeader() {
    for (const absl::string_view name : fields_) header_.emplace_back(name);
    affinities_.clear();
    users_.clear();
    for (const auto& [name, place] :
         {std::pair{"timestamp", &time_}, std::pair{"item_id", &item_},
          std::pair{"position", &position_}, std::pair{"click", &click_},
          std::pair{"propensity_score", &propensity_}}) {
      const auto found = std::find(header_.begin(), header_.end(), name);
      if (found == header_.end()) {
        return absl::InvalidArgumentError(
            absl::StrCat("column '", name, "' is missing"));
      }
      *place = static_cast<size_t>(found - header_.begin());
    }
    for (size_t i = 0; i < header_.size(); ++i) {
      if (absl::StartsWith(header_[i], kUserFeature)) users_.push_back(i);
      if (!absl::StartsWith(header_[i], kAffinity)) continue;
      uint32_t item = 0;
      if (!ParseNumber(header_[i].substr(kAffinity.size()), &item)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "column '", Shown(header_[i]), "' must end with an item_id"));
      }
      affinities_.push_back({item, i});
    }
    return CheckItems();
  }

  // Without an item context the affinities say how many items there are.
  absl::Status CheckItems() {
    if (!items_ && affinities_.empty()) {
      return absl::InvalidArgumentError(
          "the number of items is not known: give --item_context or "
          "--num_actions");
    }
    const auto count = static_cast<uint32_t>(affinities_.size());
    if (is_counted_ && items_ && items_->rows.size() != count) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the file has affinities of ", count, " items, must have ",
          items_->rows.size(),
          ", as the file before; import other sets of items by themselves"));
    }
    if (!items_) {
      items_ = PlainItems(count);
      is_counted_ = true;
    }
    affinity_of_.assign(items_->rows.size(), std::nullopt);
    for (const auto& [item, column] : affinities_) {
      if (item >= items_->rows.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("column '", header_[column], "' is of an item that ",
                         "must be in [0, ", items_->rows.size(), ")"));
      }
      affinity_of_[item] = column;
    }
    has_affinities_ = !affinities_.empty();
    num_item_values_ = 0;
    for (const auto& row : items_->rows) num_item_values_ += row.values.size();
    return absl::OkStatus();
  }

  void ReportUnusedColumns(const InputPlace& place) {
    for (size_t i = 0; i < header_.size(); ++i) {
      const absl::string_view name = header_[i];
      const bool is_used = i == time_ || i == item_ || i == position_ ||
                           i == click_ || i == propensity_ || name.empty() ||
                           absl::StartsWith(name, kUserFeature) ||
                           absl::StartsWith(name, kAffinity);
      if (is_used) continue;
      sink_->report().ignored.Add(absl::StrCat("columns '", Shown(name), "'"),
                                  place);
    }
  }

  absl::Status Wrong(size_t column, absl::string_view permitted) const {
    return absl::InvalidArgumentError(
        absl::StrCat("column '", header_[column], "' is '",
                     Shown(fields_[column]), "', must be ", permitted));
  }

  absl::Status Read(const InputPlace& place, bool* is_wanted) {
    if (fields_.size() != header_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the line has ", fields_.size(), " fields, must have ",
                       header_.size(), ", as the header"));
    }
    uint32_t position = 0;
    if (!ParseNumber(fields_[position_], &position) || position == 0) {
      return Wrong(position_, "an integer from 1");
    }
    *is_wanted = !options_.has_position() || position == options_.position();
    if (!*is_wanted) return absl::OkStatus();
    log::v1::BanditTuple* tuple = record_.mutable_tuple();
    tuple->Clear();
    log::v1::Decision* decision = tuple->mutable_decision();
    sink_->MakeUpId(absl::StrCat("obd-", position, "-", rows_), place,
                    decision);
    RETURN_IF_ERROR(
        sink_->SetTime(fields_[time_], "timestamp", place, decision));
    decision->set_action_kind(log::v1::SELECT);
    SetModel(options_, decision);
    AddAttributes(decision);
    const auto count = static_cast<uint32_t>(items_->rows.size());
    uint32_t item = 0;
    if (!ParseNumber(fields_[item_], &item) || item >= count) {
      return Wrong(item_, absl::StrCat("in [0, ", count, ")"));
    }
    decision->add_action(static_cast<int32_t>(item));
    double click = 0;
    if (!ParseNumber(fields_[click_], &click) || !std::isfinite(click)) {
      return Wrong(click_, "a finite number");
    }
    tuple->set_reward(click);
    tuple->set_has_feedback(true);
    double propensity = 0;
    if (!ParseNumber(fields_[propensity_], &propensity) ||
        !(propensity > 0 && propensity <= 1)) {
      return Wrong(propensity_, "in (0, 1]");
    }
    RETURN_IF_ERROR(SetPropensity(propensity, std::nullopt, decision));
    return AddFeatures(decision);
  }

  // What evaluations may be broken down by: the position, and what is known of
  // the user.
  void AddAttributes(log::v1::Decision* decision) const {
    auto& attributes = *decision->mutable_attributes();
    attributes["position"] = std::string(fields_[position_]);
    for (const size_t column : users_) {
      attributes[header_[column]] = std::string(fields_[column]);
    }
  }

  absl::Status AddFeatures(log::v1::Decision* decision) {
    const auto count = static_cast<uint32_t>(items_->rows.size());
    const uint32_t affinity_column = items_->num_columns;
    const uint32_t first_hashed = affinity_column + (has_affinities_ ? 1 : 0);
    const uint32_t hashed =
        options_.hash_bits() > 0 ? uint32_t{1} << options_.hash_bits() : 0;
    FindCrossed();
    decision->set_num_candidates(count);
    decision->set_num_features(first_hashed + hashed);
    v1::SparseFeatures* const sparse = decision->mutable_sparse();
    const auto most = static_cast<int>(num_item_values_ + affinities_.size() +
                                       crossed_.size() * count);
    sparse->mutable_columns()->Reserve(most);
    sparse->mutable_values()->Reserve(most);
    sparse->mutable_row_offsets()->Reserve(static_cast<int>(count) + 1);
    sparse->add_row_offsets(0);
    for (uint32_t i = 0; i < count; ++i) {
      const ObdItems::Row& row = items_->rows[i];
      sparse->mutable_columns()->Add(row.columns.begin(), row.columns.end());
      sparse->mutable_values()->Add(row.values.begin(), row.values.end());
      if (affinity_of_[i]) {
        RETURN_IF_ERROR(AddAffinity(*affinity_of_[i], affinity_column, sparse));
      }
      AddCrossed(i, first_hashed, sparse);
      sparse->add_row_offsets(static_cast<uint32_t>(sparse->columns_size()));
    }
    return absl::OkStatus();
  }

  // Appends the hashed columns of an item, ascending; how many user features
  // share one is its value.
  void AddCrossed(uint32_t item, uint32_t first_hashed,
                  v1::SparseFeatures* sparse) {
    unsorted_.clear();
    for (const std::vector<uint32_t>* columns : crossed_) {
      unsorted_.push_back(first_hashed + (*columns)[item]);
    }
    SortColumns(unsorted_, &row_);
    for (size_t k = 0; k < row_.size(); ++k) {
      if (k > 0 && row_[k] == row_[k - 1]) {
        float* const last =
            sparse->mutable_values()->Mutable(sparse->values_size() - 1);
        *last += 1;
        continue;
      }
      sparse->add_columns(row_[k]);
      sparse->add_values(1);
    }
  }

  absl::Status AddAffinity(size_t column, uint32_t feature,
                           v1::SparseFeatures* sparse) const {
    // Most are: they need no parsing.
    if (fields_[column] == "0.0") return absl::OkStatus();
    float value = 0;
    if (!ParseNumber(fields_[column], &value) || !std::isfinite(value)) {
      return Wrong(column, "a finite number");
    }
    if (value == 0) return absl::OkStatus();
    sparse->add_columns(feature);
    sparse->add_values(value);
    return absl::OkStatus();
  }

  // Finds the hashed columns of the user features: what all items share
  // distinguishes none of them, crossed with them it does.
  void FindCrossed() {
    constexpr size_t kMostKept = 4096;
    crossed_.clear();
    if (options_.hash_bits() == 0) return;
    if (known_.size() + users_.size() > kMostKept) known_.clear();
    for (const size_t column : users_) {
      name_.clear();
      absl::StrAppend(&name_, header_[column], "=", fields_[column]);
      std::vector<uint32_t>& columns = known_[name_];
      for (size_t item = columns.size(); item < items_->rows.size(); ++item) {
        columns.push_back(HashedColumn(absl::StrCat("item ", item), name_,
                                       options_.hash_bits()));
      }
      crossed_.push_back(&columns);
    }
  }

  struct Affinity {
    uint32_t item;
    size_t column;
  };

  const config::v1::LogImportOptions& options_;
  std::optional<ObdItems> items_;
  bool is_counted_ = false;  // True: the affinities of a file state the items.
  ImportSink* const sink_;
  std::vector<std::string> header_;
  std::vector<absl::string_view> fields_;
  size_t time_ = 0;
  size_t item_ = 0;
  size_t position_ = 0;
  size_t click_ = 0;
  size_t propensity_ = 0;
  std::vector<Affinity> affinities_;
  // By item: the column of the file.
  std::vector<std::optional<size_t>> affinity_of_;
  bool has_affinities_ = false;
  std::vector<size_t> users_;
  size_t num_item_values_ = 0;  // Of all items.
  // By name and value of a user feature: a hashed column for each item.
  absl::node_hash_map<std::string, std::vector<uint32_t>> known_;
  std::vector<const std::vector<uint32_t>*> crossed_;  // Those of the line.
  std::string name_;
  std::vector<uint32_t> unsorted_;
  std::vector<uint32_t> row_;
  uint64_t rows_ = 0;
  log::v1::LogRecord record_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Importer>> MakeObdImporter(
    const config::v1::LogImportOptions& options, ImportSink* sink) {
  std::optional<ObdItems> items;
  if (!options.item_context().empty()) {
    ASSIGN_OR_RETURN(items, ReadItemContext(options.item_context()));
  } else if (options.has_num_actions()) {
    items = PlainItems(options.num_actions());
  }
  return std::make_unique<ObdImporter>(options, std::move(items), sink);
}

}  // namespace sortition
