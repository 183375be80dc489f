#pragma once
// Rankings as data of the grid, with the risks of this room.
#include <span>
#include <vector>

#include "core/learners/counterfactual/linear_grid_data.h"
#include "core/learners/rankings/ranking_risk.h"
#include "tests/core/learners/rankings/exposure_cases.h"

namespace sortition {

class RankingGridData : public LinearGridData {
 public:
  // What `data` shows must outlive this; its weights must be those of
  // LinearGridData. Validates on the training tuples.
  RankingGridData(const RankingRiskData& data,
                  config::v1::PoemOptions::Objective objective)
      : LinearGridData(data.log.family, data.log.tuples, data.log.tuples,
                       objective),
        data_(data) {}
  absl::StatusOr<MakeGridRisk> PrepareRisk(
      const config::v1::PoemOptions& options) const override {
    return PrepareRankingRisk(data_, options);
  }

 private:
  RankingRiskData data_;
};

inline std::vector<ExposedTuple> ExposedOf(const ExposureData& data) {
  std::vector<ExposedTuple> exposed;
  for (size_t i = 0; i < data.gains.size(); ++i) {
    exposed.push_back({data.logged[i], data.gains[i]});
  }
  return exposed;
}

}  // namespace sortition
