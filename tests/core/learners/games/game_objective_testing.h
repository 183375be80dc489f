#pragma once
// Objectives of random queries, and points to evaluate them at.
#include <memory>

#include "core/learners/games/game_objective.h"
#include "tests/testing/random_queries.h"

namespace sortition {

inline std::unique_ptr<GameObjective> MakeObjective(
    const TestQueries& queries, const config::v1::GameOptions& options) {
  return GameObjective::Create(queries.views(), options, SerialFor).value();
}

inline Eigen::VectorXd RandomPoint(Eigen::Index dimension, double scale,
                                   RandomSequence* random) {
  return Eigen::VectorXd::NullaryExpr(dimension,
                                      [&] { return scale * random->Normal(); });
}

}  // namespace sortition
