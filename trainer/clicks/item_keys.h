#pragma once
// What counts as the same item in different rankings.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/hash.h"
#include "core/data/candidates.h"
#include "core/scoring/model_features.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/v1/columns.pb.h"
#include "trainer/tuples/scan/left_out.h"

namespace sortition {

enum class ClickItems {
  // A candidate id of one query. Queries are the same if their columns are or,
  // of requests with features, if they have the same candidates: ids and
  // features, in whatever order.
  kIds,
  // The features of a candidate; with columns, those of the query and its own.
  kFeatures,
  // The features that attraction is a function of.
  kRegression,
};
// InvalidArgument unless `text` is ids, features or regression.
absl::StatusOr<ClickItems> ParseClickItems(absl::string_view text);

// The keys of one decision's candidates. Reusable.
class ItemKeys {
 public:
  // `features` makes features of columns for kRegression; null: nothing does.
  // It must outlive this.
  ItemKeys(ClickItems items, const ModelFeatures* features)
      : items_(items), features_(features) {}

  // Reads the candidates of a decision, which must outlive the calls below, or
  // returns why it cannot be used.
  std::optional<LeftOutReason> Read(const log::v1::Decision& decision);

  uint32_t num_candidates() const { return num_candidates_; }
  // Of the rows below.
  uint32_t num_features() const { return candidates_.num_features(); }
  Hash128 KeyOf(uint32_t document_index);
  // Appends the features that the key of kRegression stands for.
  void AppendRow(uint32_t document_index, std::vector<float>* rows) const;

 private:
  std::optional<LeftOutReason> ReadColumns(
      const sortition::v1::Columns& columns);
  // Appends what a candidate has, in bytes.
  void AppendCandidate(uint32_t document_index, std::string* bytes) const;

  const ClickItems items_;
  const ModelFeatures* const features_;
  const log::v1::Decision* decision_ = nullptr;
  uint32_t num_candidates_ = 0;
  Candidates candidates_;  // None where columns count.
  std::vector<const sortition::v1::Column*>
      columns_;  // Of candidates, by name.
  ModelFeatureScratch scratch_;
  std::string bytes_;
  std::string query_;  // The key of the query, in bytes.
};

// Numbers items from 0. About 40 bytes an item.
class ItemIndex {
 public:
  // Returns the number of the item, a new one if it has none.
  uint32_t Add(const Hash128& key) {
    return numbers_.try_emplace(key, static_cast<uint32_t>(numbers_.size()))
        .first->second;
  }
  std::optional<uint32_t> Find(const Hash128& key) const {
    const auto found = numbers_.find(key);
    if (found == numbers_.end()) return std::nullopt;
    return found->second;
  }
  size_t size() const { return numbers_.size(); }

 private:
  absl::flat_hash_map<Hash128, uint32_t, Hash128Hasher> numbers_;
};

}  // namespace sortition
