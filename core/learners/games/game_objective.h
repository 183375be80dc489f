#pragma once
// The function of θ that multivariate prediction games minimise
// [WangXingAsifZiebart15, sec. 3.5]:
//
//   J(θ) = λ/2 ‖θ‖² - (1/N) Σ_queries [ψ·y + V(ψ)],  ψ_i = θ·x_i,
//
// where V is the value of the query's game (core/games) and y its labels. V is
// concave, so J is convex, with kinks. A subgradient is λθ + (1/N) ΣΣ_i (q_i -
// y_i) x_i, where q are the adversary's marginals. At the minimum Σ Σ_i (y_i -
// q_i) x_i = N λ θ: the adversary's features agree with the data's.
//
// With G(Q) the best score against an adversary Q, V(ψ) = min_Q G(Q) - ψ·q. So
// each evaluation, whatever Q it found, also gives a plane below J - λ/2 ‖θ‖²,
//   R(θ') >= θ'·(1/N) ΣΣ (q_i - y_i) x_i - (1/N) Σ G(Q).
// Planes give lower bounds of J (cutting_planes.h). The bound of a single plane
// is the dual objective of the smoothed or exact adversary.
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/base/parallel.h"
#include "core/learners/games/query_game.h"
#include "core/optim/bundled_objective.h"
#include "core/optim/query_planes.h"

namespace sortition {

// Queries are solved in parallel, in chunks that do not depend on the number of
// threads and are added in order, so that results are bit-identical for any
// number. F_BETA keeps what was played in each query and starts from it.
// Evaluations change this memory and the planes: only one caller at a time.
class GameObjective : public BundledObjective {
 public:
  // The queries' features and labels must outlive this. Errors as
  // MakeGameTask().
  static absl::StatusOr<std::unique_ptr<GameObjective>> Create(
      std::span<const LabelledItems> queries,
      const config::v1::GameOptions& options, ParallelFor parallel_for);

  GameObjective(const GameObjective&) = delete;
  GameObjective& operator=(const GameObjective&) = delete;

  // Sets the smoothing; μ = 0: the exact adversary. Requires μ = 0 or
  // CanSmooth(task()).
  void SetSmoothing(double mu) { mu_ = mu; }
  // Sets the effort of evaluations of F_BETA from now on; initially that of the
  // options. Recorded planes hold for any effort.
  void SetEffort(const FBetaEffort& effort) { effort_ = effort; }
  // Returns the mean gap of the games in the last exact evaluation.
  double game_gap() const { return last_.means.upper - last_.means.lower; }

  // Returns J from what adversaries guarantee; for F_BETA it is too small by up
  // to the games' tolerance. With smoothing it returns J_μ, which is below J by
  // at most μ/2 times the mean number of positives. NaN if a game could not be
  // solved: see status(). Evaluating the last point again costs nothing.
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override;

  // Returns the first error of a game since construction.
  absl::Status status() const override { return error_; }
  // Returns whether there is memory for planes of each query.
  bool has_query_planes() const { return query_planes_.has_value(); }
  // Returns the better of BundledObjective's bound and, if queries' own planes
  // fit into memory and many steps are allowed, the bound from those.
  CuttingPlanes::Bound LowerBound(double tolerance,
                                  int max_steps) const override;
  // Returns a bound as exact as the options' gap_tolerance needs.
  CuttingPlanes::Bound LowerBound() const;

  // Returns the expected measure of the predictors at θ: the mean over the
  // queries that have a game.
  absl::StatusOr<double> ExpectedScore(const Eigen::VectorXd& theta) const;

  const GameTask& task() const { return task_; }

 private:
  struct Chunk {
    size_t begin = 0;  // Index in queries_.
    size_t end = 0;
    QueryGame game;
    GameSums sums;
    GameSums of_query;
    absl::Status status = absl::OkStatus();
  };

  // The result of the last evaluation.
  struct Memo {
    Eigen::VectorXd point;
    double mu = 0;
    FBetaEffort effort;
    GameSums means;
  };

  GameObjective(GameTask task, std::span<const LabelledItems> queries,
                ParallelFor parallel_for);
  void MakeChunks();
  QueryRules RulesOf(size_t p) const;
  void Evaluate(Chunk& chunk, const Eigen::VectorXd& point) const;
  bool IsLast(const Eigen::VectorXd& point) const;
  // Returns the sums of all chunks divided by N, moments included.
  GameSums Means() const;

  const GameTask task_;
  std::vector<LabelledItems> queries_;  // The queries of task_.played.
  const ParallelFor parallel_for_;
  double mu_ = 0;
  FBetaEffort effort_;
  mutable std::vector<Chunk> chunks_;
  mutable std::vector<FBetaWarmStart> warm_starts_;  // For each query; F_BETA.
  mutable absl::Status error_;
  mutable Memo last_;
  mutable std::optional<QueryPlanes> query_planes_;
};

}  // namespace sortition
