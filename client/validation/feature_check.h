#pragma once
// Whether the features of a model's versions come from the same columns.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "client/validation/bounded_map.h"
#include "client/validation/log_check.h"
#include "io/columns/undeclared_columns.h"

namespace sortition {

// What the values of each column were, zeros of sparse rows included.
class ColumnStatistics {
 public:
  explicit ColumnStatistics(uint32_t num_features);

  // Returns false, and takes nothing, if a value is not finite or a column is
  // out of range.
  bool Add(const log::v1::Decision& decision);

  size_t size() const { return sum_.size(); }
  uint64_t decisions() const { return decisions_; }
  double mean(size_t column) const;
  double deviation(size_t column) const;
  double least(size_t column) const { return least_[column]; }
  double most(size_t column) const { return most_[column]; }

 private:
  bool AddDense(const log::v1::Decision& decision);
  bool AddSparse(const log::v1::Decision& decision);

  uint64_t decisions_ = 0;
  uint64_t rows_ = 0;
  std::vector<double> sum_;
  std::vector<double> squares_;
  std::vector<float> least_;
  std::vector<float> most_;
};

// Compares each version with the one before: the number of features, ranges
// that moved by more than a factor of 10, and pairs of columns that changed
// places. Named columns must be well-formed. Looks at one decision in so many.
class FeatureCheck : public LogCheck {
 public:
  explicit FeatureCheck(uint32_t every) : every_(every) {}
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  void Compare(const std::string& name, const ColumnStatistics& before,
               const ColumnStatistics& now,
               std::vector<Finding>* findings) const;

  const uint32_t every_;
  uint64_t decisions_ = 0;
  uint64_t looked_at_ = 0;
  uint64_t columns_ = 0;  // Of all versions.
  bool is_full_ = false;
  BoundedMap<std::pair<std::string, uint64_t>, ColumnStatistics> versions_;
  UndeclaredColumns named_;  // Of the last decision with named columns.
  uint64_t with_named_ = 0;
  Offences bad_;
  Offences other_size_;
};

}  // namespace sortition
