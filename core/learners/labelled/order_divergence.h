#pragma once
// Makes the divergence that options name.
#include "core/aggregation/aggregate_policy.h"
#include "sortition/config/v1/labelled.pb.h"

namespace sortition {

inline AggregateDivergence DivergenceOf(
    config::v1::OrderDivergence::Kind kind) {
  switch (kind) {
    case config::v1::OrderDivergence::DCG:
      return AggregateDivergence::kDcg;
    case config::v1::OrderDivergence::ALL_PAIRS:
      return AggregateDivergence::kAllPairs;
    case config::v1::OrderDivergence::TOP:
      break;
  }
  return AggregateDivergence::kTop;
}

}  // namespace sortition
