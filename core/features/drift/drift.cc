#include "core/features/drift/drift.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/stable_math.h"
#include "core/base/status_macros.h"
#include "core/features/drift/column_values.h"
#include "core/features/drift/value_sketch.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using model::v1::LearnedFeatures;
using model::v1::ValueStatistics;

absl::Status Error(const ValueStatistics& statistics, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("statistics of '", statistics.name(), "': ", what));
}

uint64_t Sum(std::span<const uint64_t> counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

}  // namespace

double StabilityIndex(std::span<const uint64_t> training,
                      std::span<const uint64_t> served) {
  CHECK(!training.empty() && training.size() == served.size());
  constexpr double kMore = 0.5;
  const double more = kMore * static_cast<double>(training.size());
  const double all_training = static_cast<double>(Sum(training)) + more;
  const double all_served = static_cast<double>(Sum(served)) + more;
  double index = 0;
  for (size_t b = 0; b < training.size(); ++b) {
    const double expected =
        (static_cast<double>(training[b]) + kMore) / all_training;
    const double observed =
        (static_cast<double>(served[b]) + kMore) / all_served;
    index += (observed - expected) * stable::Log(observed / expected);
  }
  return index;
}

absl::StatusOr<DriftCounts::Bins> DriftCounts::MakeBins(
    const ValueStatistics& statistics, bool is_feature, bool is_category) {
  Bins bins;
  bins.statistics = statistics;
  bins.is_feature = is_feature;
  if (is_category) {
    if (statistics.categories_size() != statistics.category_counts_size()) {
      return Error(
          statistics,
          absl::StrCat("has ", statistics.category_counts_size(),
                       " counts, must have ", statistics.categories_size(),
                       ", one per category"));
    }
    for (int i = 0; i < statistics.categories_size(); ++i) {
      bins.categories.emplace(statistics.categories(i), i);
    }
    bins.training.assign(statistics.category_counts().begin(),
                         statistics.category_counts().end());
    bins.training.push_back(statistics.other_categories());
  } else {
    if (statistics.bin_counts_size() != statistics.edges_size() + 1) {
      return Error(
          statistics,
          absl::StrCat("has ", statistics.bin_counts_size(),
                       " counts, must have ", statistics.edges_size() + 1,
                       ", one more than edges"));
    }
    for (int i = 1; i < statistics.edges_size(); ++i) {
      if (statistics.edges(i) > statistics.edges(i - 1)) continue;
      return Error(statistics,
                   absl::StrCat("edges[", i, "] is ", statistics.edges(i),
                                ", must be above the one before"));
    }
    bins.training.assign(statistics.bin_counts().begin(),
                         statistics.bin_counts().end());
  }
  // Counts of a sample stand for all values, missing ones do not.
  const uint64_t sampled = Sum(bins.training);
  const double share = statistics.count() == 0
                           ? 1
                           : static_cast<double>(sampled) /
                                 static_cast<double>(statistics.count());
  bins.training.push_back(static_cast<uint64_t>(
      share * static_cast<double>(statistics.missing()) + 0.5));
  bins.served.resize(bins.training.size());
  return bins;
}

absl::StatusOr<DriftCounts> DriftCounts::Create(
    const Schema& schema, const LearnedFeatures& learned) {
  if (static_cast<size_t>(learned.column_size()) != schema.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("learned has statistics of ", learned.column_size(),
                     " columns, must have ", schema.size()));
  }
  DriftCounts counts;
  for (size_t i = 0; i < schema.size(); ++i) {
    counts.columns_.push_back(schema.column(i));
    ASSIGN_OR_RETURN(Bins bins,
                     MakeBins(learned.column(static_cast<int>(i)), false,
                              CountsCategories(schema.column(i))));
    counts.bins_.push_back(std::move(bins));
  }
  for (const ValueStatistics& feature : learned.feature()) {
    ASSIGN_OR_RETURN(Bins bins, MakeBins(feature, true, false));
    counts.bins_.push_back(std::move(bins));
  }
  return counts;
}

void DriftCounts::Reset() {
  for (Bins& bins : bins_) std::fill(bins.served.begin(), bins.served.end(), 0);
}

void DriftCounts::Add(const BoundColumns& columns, const FeatureMatrix& matrix,
                      uint32_t step) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const bool one_value = columns_[i].scope() == ColumnSchema::QUERY;
    AddColumn(columns_[i], columns.column(i),
              one_value ? 1 : columns.num_candidates(), step, &bins_[i]);
  }
  AddFeatures(matrix, columns.num_candidates(), step);
}

void DriftCounts::AddColumn(const ColumnSchema& schema,
                            const BoundColumn& column, uint32_t num_rows,
                            uint32_t step, Bins* bins) {
  for (uint32_t row = 0; row < num_rows; row += step) {
    size_t bin = bins->served.size() - 1;
    if (!column.Missing(row)) {
      if (CountsCategories(schema)) {
        const auto found = bins->categories.find(column.Text(row));
        bin = found == bins->categories.end() ? bins->categories.size()
                                              : found->second;
      } else {
        bin = BinOf(bins->statistics, CountedNumber(schema, column, row));
      }
    }
    ++bins->served[bin];
  }
}

void DriftCounts::AddFeatures(const FeatureMatrix& matrix, uint32_t num_rows,
                              uint32_t step) {
  const size_t num_features = bins_.size() - columns_.size();
  row_.resize(num_features);
  for (uint32_t row = 0; row < num_rows; row += step) {
    if (matrix.row_offsets.empty()) {
      std::copy_n(matrix.values.data() + size_t{row} * matrix.num_features,
                  num_features, row_.data());
    } else {
      std::fill(row_.begin(), row_.end(), 0.0f);
      for (uint32_t i = matrix.row_offsets[row];
           i < matrix.row_offsets[row + 1] && matrix.columns[i] < num_features;
           ++i) {
        row_[matrix.columns[i]] = matrix.values[i];
      }
    }
    for (size_t j = 0; j < num_features; ++j) {
      Bins& bins = bins_[columns_.size() + j];
      ++bins.served[BinOf(bins.statistics, static_cast<double>(row_[j]))];
    }
  }
}

void DriftCounts::Merge(const DriftCounts& other) {
  CHECK(bins_.size() == other.bins_.size());
  for (size_t i = 0; i < bins_.size(); ++i) {
    CHECK(bins_[i].served.size() == other.bins_[i].served.size());
    for (size_t b = 0; b < bins_[i].served.size(); ++b) {
      bins_[i].served[b] += other.bins_[i].served[b];
    }
  }
}

std::vector<DriftFigure> DriftCounts::TopMovers(size_t most) const {
  std::vector<DriftFigure> figures;
  for (const Bins& bins : bins_) {
    const uint64_t count = Sum(bins.served);
    if (count == 0) continue;
    figures.push_back({bins.statistics.name(), bins.is_feature,
                       StabilityIndex(bins.training, bins.served), count,
                       bins.served.size()});
  }
  std::sort(figures.begin(), figures.end(),
            [](const DriftFigure& a, const DriftFigure& b) {
              return a.stability_index != b.stability_index
                         ? a.stability_index > b.stability_index
                         : a.name < b.name;
            });
  if (figures.size() > most) figures.resize(most);
  return figures;
}

}  // namespace sortition
