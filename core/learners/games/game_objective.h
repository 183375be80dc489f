#pragma once
// What multivariate prediction games minimise over θ [WangXingAsifZiebart15,
// sec. 3.5]:
//
//   J(θ) = λ/2 ‖θ‖² - (1/N) Σ_queries [ψ·y + V(ψ)],  ψ_i = θ·x_i,
//
// V the value of the query's game (core/games), y its labels. V is concave, so
// J is convex; it has kinks. A subgradient is λθ + (1/N) ΣΣ_i (q_i - y_i) x_i
// with the adversary's marginals q. Where θ is best, Σ Σ_i (y_i - q_i) x_i =
// N λ θ: the adversary's features agree with the data's.
//
// With G(Q) the best score against an adversary Q, V(ψ) = min_Q G(Q) - ψ·q. So
// each evaluation, whatever Q it took, also gives a plane below J - λ/2 ‖θ‖²,
//   R(θ') >= θ'·(1/N) ΣΣ (q_i - y_i) x_i - (1/N) Σ G(Q),
// and planes give lower bounds of J (cutting_planes.h): of one plane, the dual
// objective of the smoothed or exact adversary.
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
// threads and are added in order: the same bits for any number. F_BETA keeps
// what was played per query and starts from it. Evaluations change this
// memory, and the planes: one caller at a time.
class GameObjective : public BundledObjective {
 public:
  // The queries' features and labels must outlive it. Errors: MakeGameTask().
  static absl::StatusOr<std::unique_ptr<GameObjective>> Create(
      std::span<const LabelledItems> queries,
      const config::v1::GameOptions& options, ParallelFor parallel_for);

  GameObjective(const GameObjective&) = delete;
  GameObjective& operator=(const GameObjective&) = delete;

  // μ = 0: the exact adversary. Requires μ = 0 or CanSmooth(task()).
  void SetSmoothing(double mu) { mu_ = mu; }
  // F_BETA: sets the effort of evaluations from now on; initially as the
  // options say. Recorded planes hold for any effort.
  void SetEffort(const FBetaEffort& effort) { effort_ = effort; }
  // Mean gap of the games in the last exact evaluation.
  double game_gap() const { return last_.means.upper - last_.means.lower; }

  // J, from what adversaries guarantee: for F_BETA that is up to the games'
  // tolerance too small. Smoothed: J_μ, at most μ/2 times the mean number of
  // positives below J. NaN where a game could not be solved: see status().
  // Repeating the last point costs nothing.
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override;

  // The first error of a game since it was made.
  absl::Status status() const override { return error_; }
  // Whether there is memory for planes of each query.
  bool has_query_planes() const { return query_planes_.has_value(); }
  // Where queries' own planes fit into memory and many steps are allowed, the
  // better of the bound from them and that of BundledObjective.
  CuttingPlanes::Bound LowerBound(double tolerance,
                                  int max_steps) const override;
  // As exact as the options' gap_tolerance needs.
  CuttingPlanes::Bound LowerBound() const;

  // Mean over the queries that have a game of the measure that predictors at θ
  // have in expectation.
  absl::StatusOr<double> ExpectedScore(const Eigen::VectorXd& theta) const;

  const GameTask& task() const { return task_; }

 private:
  struct Chunk {
    size_t begin = 0;  // Of queries_.
    size_t end = 0;
    QueryGame game;
    GameSums sums;
    GameSums of_query;
    absl::Status status = absl::OkStatus();
  };

  // The last evaluation.
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
  // Returns the sums of all chunks over N, moments included.
  GameSums Means() const;

  const GameTask task_;
  std::vector<LabelledItems> queries_;  // task_.played.
  const ParallelFor parallel_for_;
  double mu_ = 0;
  FBetaEffort effort_;
  mutable std::vector<Chunk> chunks_;
  mutable std::vector<FBetaWarmStart> warm_starts_;  // By query; F_BETA.
  mutable absl::Status error_;
  mutable Memo last_;
  mutable std::optional<QueryPlanes> query_planes_;
};

}  // namespace sortition
