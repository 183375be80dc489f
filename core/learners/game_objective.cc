#include "core/learners/game_objective.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using config::v1::GameOptions;

constexpr size_t kMaxChunks = 64;
// Memory of the chunks' moments and of the planes: 32 MiB each.
constexpr size_t kMaxEntries = size_t{1} << 22;
constexpr size_t kMaxPlanes = 256;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

size_t Affordable(size_t most, const GameTask& task) {
  const size_t dimension =
      static_cast<size_t>(task.num_blocks) * task.num_features;
  return std::clamp<size_t>(kMaxEntries / dimension, 2, most);
}

std::span<const double> ToSpan(const Eigen::VectorXd& vector) {
  return {vector.data(), static_cast<size_t>(vector.size())};
}

}  // namespace

absl::StatusOr<std::unique_ptr<GameObjective>> GameObjective::Create(
    std::span<const GameQuery> queries, const GameOptions& options,
    ParallelFor parallel_for) {
  ASSIGN_OR_RETURN(GameTask task, MakeGameTask(queries, options));
  return std::unique_ptr<GameObjective>(
      new GameObjective(std::move(task), queries, std::move(parallel_for)));
}

GameObjective::GameObjective(GameTask task, std::span<const GameQuery> queries,
                             ParallelFor parallel_for)
    : task_(std::move(task)),
      queries_(queries.begin(), queries.end()),
      parallel_for_(std::move(parallel_for)),
      planes_(dimension(),
              static_cast<Eigen::Index>(Affordable(kMaxPlanes, task_))),
      best_value_(kInfinity) {
  if (task_.options.measure() == GameOptions::F_BETA) {
    warm_starts_.resize(queries_.size());
  }
  MakeChunks();
}

// Of about as many items each.
void GameObjective::MakeChunks() {
  size_t num_items = 0;
  for (const GameQuery& query : queries_) num_items += query.relevances.size();
  const size_t num_chunks =
      std::min(Affordable(kMaxChunks, task_), queries_.size());
  size_t seen = 0;
  for (size_t j = 0; j < queries_.size(); ++j) {
    if (chunks_.empty() || seen * num_chunks >= chunks_.size() * num_items) {
      chunks_.push_back(
          {.begin = j, .end = j, .game = QueryGame(task_), .sums = {}});
    }
    chunks_.back().end = j + 1;
    seen += queries_[j].relevances.size();
  }
}

void GameObjective::SetLambda(double lambda) {
  CHECK(lambda > 0 && lambda < kInfinity);
  lambda_ = lambda;
  best_value_ = kInfinity;
}

Eigen::Index GameObjective::dimension() const {
  return static_cast<Eigen::Index>(task_.num_blocks) * task_.num_features;
}

void GameObjective::Evaluate(Chunk& chunk, const Eigen::VectorXd& point) const {
  chunk.sums.lower = chunk.sums.upper = chunk.sums.score = 0;
  chunk.sums.moments.assign(static_cast<size_t>(dimension()), 0);
  chunk.status = absl::OkStatus();
  for (size_t j = chunk.begin; j < chunk.end && chunk.status.ok(); ++j) {
    chunk.status = chunk.game.Add(
        queries_[j], ToSpan(point), mu_,
        warm_starts_.empty() ? nullptr : &warm_starts_[j], &chunk.sums);
  }
}

GameSums GameObjective::Means() const {
  const auto n = static_cast<double>(queries_.size());
  GameSums means;
  means.moments.assign(static_cast<size_t>(dimension()), 0);
  for (const Chunk& chunk : chunks_) {
    means.lower += chunk.sums.lower / n;
    means.upper += chunk.sums.upper / n;
    means.score += chunk.sums.score / n;
    for (size_t j = 0; j < means.moments.size(); ++j) {
      means.moments[j] += chunk.sums.moments[j] / n;
    }
  }
  return means;
}

double GameObjective::Evaluate(const Eigen::VectorXd& point,
                               Eigen::VectorXd* gradient) const {
  ++evaluations_;
  parallel_for_(chunks_.size(), [&](size_t c) { Evaluate(chunks_[c], point); });
  for (const Chunk& chunk : chunks_) error_.Update(chunk.status);
  if (!error_.ok()) {
    if (gradient != nullptr) gradient->setZero(dimension());
    return std::numeric_limits<double>::quiet_NaN();
  }
  const GameSums means = Means();
  const Eigen::Map<const Eigen::VectorXd> moments(means.moments.data(),
                                                  dimension());
  planes_.Add(-means.score, moments);
  const double penalty = lambda_ / 2 * point.squaredNorm();
  if (mu_ == 0 && penalty - means.lower < best_value_) {
    best_value_ = penalty - means.lower;
    best_point_ = point;
  }
  if (gradient != nullptr) *gradient = lambda_ * point + moments;
  return penalty - means.upper;
}

CuttingPlanes::Bound GameObjective::LowerBound() const {
  constexpr double kShare = 1e-3;  // Of the gap that matters.
  return planes_.Maximise(lambda_, kShare * task_.options.gap_tolerance());
}

absl::StatusOr<double> GameObjective::ExpectedScore(
    const Eigen::VectorXd& theta) const {
  std::vector<double> scores(queries_.size());
  parallel_for_(chunks_.size(), [&](size_t c) {
    Chunk& chunk = chunks_[c];
    chunk.status = absl::OkStatus();
    for (size_t j = chunk.begin; j < chunk.end && chunk.status.ok(); ++j) {
      const auto score = chunk.game.ExpectedScore(
          queries_[j], ToSpan(theta),
          warm_starts_.empty() ? nullptr : &warm_starts_[j]);
      chunk.status = score.status();
      if (score.ok()) scores[j] = *score;
    }
  });
  double sum = 0;
  for (const Chunk& chunk : chunks_) RETURN_IF_ERROR(chunk.status);
  for (const double score : scores) sum += score;
  return sum / static_cast<double>(scores.size());
}

}  // namespace sortition
