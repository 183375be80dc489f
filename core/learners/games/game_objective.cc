#include "core/learners/games/game_objective.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/status_macros.h"

namespace sortition {
namespace {

using config::v1::GameOptions;

constexpr size_t kMaxChunks = 64;
// Limits the memory of the chunks' moments, and that of the planes, to 32 MiB
// each.
constexpr size_t kMaxEntries = size_t{1} << 22;
constexpr size_t kMaxPlanes = 256;
// Largest and smallest number of planes of each query. There are none if the
// smallest number exceeds that memory.
constexpr size_t kMaxQueryPlanes = 24;
constexpr size_t kFewestQueryPlanes = 4;
// LowerBound() uses planes of each query if it is allowed at least this many
// steps, and makes at most kMaxPasses passes over them.
constexpr int kQueryPlanesFrom = 1000;
constexpr int kMaxPasses = 200;

size_t Dimension(const GameTask& task) {
  return static_cast<size_t>(task.num_blocks) * task.num_features;
}

size_t Affordable(size_t most, const GameTask& task) {
  return std::clamp<size_t>(kMaxEntries / Dimension(task), 2, most);
}

Eigen::Map<const Eigen::VectorXd> ToVector(const std::vector<double>& vector) {
  return {vector.data(), static_cast<Eigen::Index>(vector.size())};
}

void AddTo(const GameSums& sums, double share, GameSums* total) {
  total->lower += share * sums.lower;
  total->upper += share * sums.upper;
  total->score += share * sums.score;
  for (size_t j = 0; j < sums.moments.size(); ++j) {
    total->moments[j] += share * sums.moments[j];
  }
}

std::span<const double> ToSpan(const Eigen::VectorXd& vector) {
  return {vector.data(), static_cast<size_t>(vector.size())};
}

}  // namespace

absl::StatusOr<std::unique_ptr<GameObjective>> GameObjective::Create(
    std::span<const LabelledItems> queries, const GameOptions& options,
    ParallelFor parallel_for) {
  ASSIGN_OR_RETURN(GameTask task, MakeGameTask(queries, options));
  return std::unique_ptr<GameObjective>(
      new GameObjective(std::move(task), queries, std::move(parallel_for)));
}

GameObjective::GameObjective(GameTask task,
                             std::span<const LabelledItems> queries,
                             ParallelFor parallel_for)
    : BundledObjective(static_cast<Eigen::Index>(Dimension(task)),
                       static_cast<Eigen::Index>(Affordable(kMaxPlanes, task))),
      task_(std::move(task)),
      parallel_for_(std::move(parallel_for)),
      effort_{.tolerance = task_.options.game_tolerance(),
              .max_rounds = task_.options.game_rounds()} {
  for (const size_t j : task_.played) queries_.push_back(queries[j]);
  if (task_.options.measure() == GameOptions::F_BETA) {
    warm_starts_.resize(queries_.size());
  }
  const size_t affordable = std::min(
      kMaxQueryPlanes, kMaxEntries / (queries_.size() * Dimension(task_)));
  if (affordable >= kFewestQueryPlanes) {
    query_planes_.emplace(queries_.size(), dimension(),
                          static_cast<Eigen::Index>(affordable));
  }
  MakeChunks();
}

// Makes chunks with about equal numbers of items.
void GameObjective::MakeChunks() {
  size_t num_items = 0;
  for (const LabelledItems& query : queries_)
    num_items += query.relevances.size();
  const size_t num_chunks =
      std::min(Affordable(kMaxChunks, task_), queries_.size());
  size_t seen = 0;
  for (size_t j = 0; j < queries_.size(); ++j) {
    if (chunks_.empty() || seen * num_chunks >= chunks_.size() * num_items) {
      chunks_.push_back({.begin = j,
                         .end = j,
                         .game = QueryGame(task_),
                         .sums = {},
                         .of_query = {}});
    }
    chunks_.back().end = j + 1;
    seen += queries_[j].relevances.size();
  }
}

QueryRules GameObjective::RulesOf(size_t p) const {
  return {.discounts = task_.DiscountsOf(p),
          .warm_start = warm_starts_.empty() ? nullptr : &warm_starts_[p],
          .effort = effort_,
          .mu = mu_};
}

void GameObjective::Evaluate(Chunk& chunk, const Eigen::VectorXd& point) const {
  const auto clear = [&](GameSums* sums) {
    sums->lower = sums->upper = sums->score = 0;
    sums->moments.assign(static_cast<size_t>(dimension()), 0);
  };
  clear(&chunk.sums);
  chunk.status = absl::OkStatus();
  for (size_t j = chunk.begin; j < chunk.end && chunk.status.ok(); ++j) {
    GameSums& sums = query_planes_ ? chunk.of_query : chunk.sums;
    if (query_planes_) clear(&sums);
    chunk.status =
        chunk.game.Add(queries_[j], ToSpan(point), RulesOf(j), &sums);
    if (!query_planes_ || !chunk.status.ok()) continue;
    query_planes_->Add(j, -sums.score, ToVector(sums.moments));
    AddTo(sums, 1, &chunk.sums);
  }
}

GameSums GameObjective::Means() const {
  GameSums means;
  means.moments.assign(static_cast<size_t>(dimension()), 0);
  for (const Chunk& chunk : chunks_) {
    AddTo(chunk.sums, 1 / static_cast<double>(queries_.size()), &means);
  }
  return means;
}

bool GameObjective::IsLast(const Eigen::VectorXd& point) const {
  return last_.point.size() > 0 && last_.point == point && last_.mu == mu_ &&
         last_.effort.tolerance <= effort_.tolerance &&
         last_.effort.max_rounds >= effort_.max_rounds;
}

double GameObjective::Evaluate(const Eigen::VectorXd& point,
                               Eigen::VectorXd* gradient) const {
  if (!IsLast(point)) {
    parallel_for_(chunks_.size(),
                  [&](size_t c) { Evaluate(chunks_[c], point); });
    for (const Chunk& chunk : chunks_) error_.Update(chunk.status);
    if (!error_.ok()) {
      if (gradient != nullptr) gradient->setZero(dimension());
      return std::numeric_limits<double>::quiet_NaN();
    }
    last_ = {point, mu_, effort_, Means()};
    RecordPlane(-last_.means.score, ToVector(last_.means.moments));
  }
  RecordPoint(point, -last_.means.lower);
  if (gradient != nullptr) {
    *gradient = lambda() * point + Eigen::Map<const Eigen::VectorXd>(
                                       last_.means.moments.data(), dimension());
  }
  return Penalty(point) - last_.means.upper;
}

CuttingPlanes::Bound GameObjective::LowerBound(double tolerance,
                                               int max_steps) const {
  CuttingPlanes::Bound bound =
      BundledObjective::LowerBound(tolerance, max_steps);
  if (!query_planes_ || max_steps < kQueryPlanesFrom) return bound;
  CuttingPlanes::Bound other =
      query_planes_->Maximise(lambda(), tolerance, kMaxPasses);
  // The point of these planes is the better next one, whichever bound is
  // larger.
  other.value = std::max(other.value, bound.value);
  return other;
}

CuttingPlanes::Bound GameObjective::LowerBound() const {
  constexpr int kMaxSteps = 20000;
  constexpr double kShare = 1e-3;  // Share of the gap tolerance.
  return LowerBound(kShare * task_.options.gap_tolerance(), kMaxSteps);
}

absl::StatusOr<double> GameObjective::ExpectedScore(
    const Eigen::VectorXd& theta) const {
  std::vector<double> scores(queries_.size());
  parallel_for_(chunks_.size(), [&](size_t c) {
    Chunk& chunk = chunks_[c];
    chunk.status = absl::OkStatus();
    for (size_t j = chunk.begin; j < chunk.end && chunk.status.ok(); ++j) {
      const auto score =
          chunk.game.ExpectedScore(queries_[j], ToSpan(theta), RulesOf(j));
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
