#pragma once
// Figures of imported decisions that show a wrong import at a glance.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "io/columns/undeclared_columns.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Minimum, mean and maximum of a quantity.
struct Spread {
  uint64_t count = 0;
  double minimum = 0;
  double maximum = 0;
  double sum = 0;
  double sum_of_counts = 0;

  // `counts` is how many values of the population this one stands for.
  void Add(double value, double counts = 1);
  double mean() const { return count == 0 ? 0 : sum / sum_of_counts; }
};

// Not thread-safe.
class ImportStatistics {
 public:
  // Only the first decisions have their features compared, up to this number of
  // values, because comparing those of a large file would slow the import down.
  static constexpr uint64_t kMaxCompared = 2000000;

  // Requires a tuple that passed CheckTuple(). `columns` are its named columns;
  // null if it has numbered features.
  void Add(const log::v1::BanditTuple& tuple, const UndeclaredColumns* columns);

  // Sentences about what looks wrong; empty: nothing does.
  std::vector<std::string> Warnings() const;

  uint64_t tuples() const { return rewards_.count; }
  const Spread& rewards() const { return rewards_; }
  // 1 / propensity of the whole action.
  const Spread& weights() const { return weights_; }
  // Eligible candidates of a decision, without "no answer".
  const Spread& candidates() const { return candidates_; }
  // Features of a candidate that are not 0, or columns that have a value.
  const Spread& features() const { return features_; }
  // Different features, or columns, of the decisions that were compared.
  uint64_t distinct_features() const {
    return by_number_.size() + by_name_.size();
  }
  uint64_t with_feedback() const { return with_feedback_; }
  uint64_t abstained() const { return abstained_; }
  uint64_t overridden() const { return overridden_; }
  uint64_t without_time() const { return without_time_; }
  uint64_t without_unit() const { return without_unit_; }
  // 0 if no decision has a time.
  int64_t first_time_us() const { return first_time_us_; }
  int64_t last_time_us() const { return last_time_us_; }
  // By model and version: number of decisions.
  const std::map<std::pair<std::string, uint64_t>, uint64_t>& models() const {
    return models_;
  }

 private:
  // A feature or a column in the decisions that were compared.
  struct Compared {
    uint64_t rows = 0;   // Candidates that have a value.
    uint64_t first = 0;  // Bits or hash of the first value.
    bool is_constant = true;

    void Add(uint64_t value);
  };
  void Compare(const log::v1::Decision& decision);
  void CompareColumns(const UndeclaredColumns& columns);
  // A decision of a sampled log stands for `counts` decisions.
  void CompareWeights(const log::v1::Decision& decision, double eligible,
                      double counts);
  std::string ConstantFeatures() const;

  Spread rewards_;
  Spread weights_;
  Spread candidates_;
  Spread features_;
  // Sums over selections with weights w = 1 / (actions · propensity), each of
  // which stands for c decisions: Σ c, Σ c w, and Σ c², Σ c² w, Σ c² w².
  double uniform_counts_ = 0;
  double uniform_sum_ = 0;
  double uniform_squares_[3] = {};
  uint64_t selections_ = 0;
  uint64_t with_feedback_ = 0;
  uint64_t may_abstain_ = 0;
  uint64_t abstained_ = 0;
  uint64_t overridden_ = 0;
  uint64_t without_time_ = 0;
  uint64_t without_unit_ = 0;
  uint64_t single_ = 0;  // Decisions with one possible action.
  int64_t first_time_us_ = 0;
  int64_t last_time_us_ = 0;
  std::map<std::pair<std::string, uint64_t>, uint64_t> models_;
  // Number of decisions that were compared, of their candidates and of their
  // values; and the features by number or the columns by name.
  uint64_t compared_ = 0;
  uint64_t compared_rows_ = 0;
  uint64_t compared_values_ = 0;
  absl::flat_hash_map<uint32_t, Compared> by_number_;
  std::map<std::string, Compared> by_name_;
};

}  // namespace sortition
