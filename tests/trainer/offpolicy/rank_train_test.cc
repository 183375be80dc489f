// Learning from rewards by rank.
#include <algorithm>
#include <numeric>

#include "core/learners/counterfactual/linear_weights.h"
#include "io/datasets/letor.h"
#include "io/files.h"
#include "tests/testing/refusal_table.h"
#include "tests/trainer/rank_tuples.h"
#include "trainer/offpolicy/rank_marginals.h"
#include "trainer/report.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using config::v1::TrainReport;
using testing::DoubleNear;
using testing::Each;
using testing::Pointwise;

using Poem = config::v1::PoemOptions;

constexpr uint32_t kRanks = 6;
// How often the users `pbm` look at each rank, from their paper.
constexpr double kExamination[kRanks] = {.68, .61, .48, .34, .28, .20};

class RankTrainTest : public testing::Test {
 protected:
  // `top_k` of six candidates are ranked. `user`: err reads from the top, until
  // satisfied, and gives 1 / (rank + 1); pbm looks at ranks by their position,
  // and gives 1 for each click.
  void Prepare(absl::string_view user, size_t n, uint32_t top_k = kRanks) {
    log_ = {.action_kind = ActionKind::kRank,
            .num_candidates = kRanks,
            .top_k = top_k};
    reader_.emplace(ReaderOf(user));
    WriteSegment(dir_.Sub("tuples"), 0, MakeRankTuples(log_, *reader_, n));
    ASSERT_OK(store_.Publish(LoggingModel(log_), nullptr, {}));
    options_.set_tuples(dir_.Sub("tuples"));
    options_.set_model_store(dir_.Sub("models"));
    options_.set_force(true);
    options_.set_reward_max(user == "pbm" ? kRanks : 1);
    Poem* const poem = options_.mutable_poem();
    poem->set_optimiser(Poem::BATCH);
    poem->set_penalty(Poem::NORM);
    poem->add_l2(1e-3);
  }

  void SetExposure() {
    Poem* const poem = options_.mutable_poem();
    poem->set_objective(Poem::EXPOSURE);
    for (const double examination : kExamination) {
      poem->add_examination(examination);
    }
  }

  double LoggingValue() const {
    return RankValue(log_, *reader_, LoggingModel(log_));
  }

  // Trains, and returns what the published model earns.
  double TrainedValue(TrainReport* report = nullptr) {
    const absl::StatusOr<TrainReport> trained = Train(options_);
    EXPECT_OK(trained);
    if (!trained.ok()) return 0;
    if (report != nullptr) *report = *trained;
    const absl::StatusOr<StoredModel> stored =
        store_.Load("default", trained->version());
    EXPECT_OK(stored);
    return stored.ok() ? RankValue(log_, *reader_, stored->model) : 0;
  }

  const TempDir dir_;
  const ModelStore store_{dir_.Sub("models")};
  SyntheticLog log_;
  std::optional<RankReader> reader_;
  config::v1::TrainOptions options_;
};

// Nobody reported how far users looked, so that the weight of an order is that
// of six ranks, most of which nobody saw.
TEST_F(RankTrainTest, PrefixesLearnWhatOrdersCannot) {
  Prepare("err", 6000);
  options_.mutable_poem()->set_start(Poem::ZERO);
  options_.mutable_poem()->add_lambda(0);
  options_.mutable_poem()->set_rank_weights(Poem::ORDER);
  const double of_orders = TrainedValue();
  options_.mutable_poem()->clear_rank_weights();
  TrainReport report;
  const double of_prefixes = TrainedValue(&report);
  EXPECT_GT(of_prefixes, of_orders + 0.03);
  EXPECT_GT(of_prefixes, LoggingValue() + 0.1);
  EXPECT_EQ(report.rank_rewards(), "poem.rank_weights is PREFIXES");
  EXPECT_GT(report.with_rank_rewards(), 0);
  EXPECT_LT(report.with_rank_rewards(), report.evaluation().train_tuples());
  EXPECT_EQ(report.orders_as_one(), 0);
  EXPECT_THAT(
      FormatReport(report),
      HasSubstr(absl::StrCat("  ", report.with_rank_rewards(),
                             " of the decisions to train have rewards by rank, "
                             "0 count as one action (poem.rank_weights is "
                             "PREFIXES)\n")));
}

// Joined with the largest reward of the ranks, which is not their sum.
TEST_F(RankTrainTest, OrdersTeachWhereRewardsDoNotAddUp) {
  Prepare("err", 400);
  std::vector<log::v1::BanditTuple> tuples =
      MakeRankTuples(log_, *reader_, 400);
  for (log::v1::BanditTuple& tuple : tuples) {
    if (tuple.rank_rewards().empty()) continue;
    *tuple.add_rank_rewards() = tuple.rank_rewards(0);
    tuple.mutable_rank_rewards(1)->set_rank(5);
  }
  WriteSegment(dir_.Sub("others"), 0, tuples);
  options_.set_tuples(dir_.Sub("others"));
  TrainReport report;
  TrainedValue(&report);
  EXPECT_EQ(report.rank_rewards(), "");
  options_.mutable_poem()->set_rank_weights(Poem::PREFIXES);
  EXPECT_THAT(Train(options_).status(),
              IsInvalidArgument("join with aggregation SUM"));
}

TEST_F(RankTrainTest, AModelOfRewardsCorrectsPrefixes) {
  Prepare("err", 6000);
  options_.mutable_poem()->add_lambda(0);
  options_.mutable_poem()->set_objective(Poem::DOUBLY_ROBUST);
  options_.mutable_poem()->set_rank_weights(Poem::PREFIXES);
  EXPECT_GT(TrainedValue(), LoggingValue() + 0.1);
}

TEST_F(RankTrainTest, ItemsAtTheirRanksTeachWhereEachIsJudgedByItself) {
  Prepare("pbm", 800);
  options_.mutable_poem()->add_lambda(0);
  options_.mutable_poem()->set_rank_weights(Poem::ITEM_POSITION);
  TrainReport report;
  EXPECT_GT(TrainedValue(&report), LoggingValue() + 0.1);
  EXPECT_EQ(report.rank_rewards(), "poem.rank_weights is ITEM_POSITION");
}

// A bound holds learning back the more, the surer it must be.
TEST_F(RankTrainTest, ExposuresTeachWithoutWeightsOfOrders) {
  Prepare("pbm", 800);
  SetExposure();
  const double logged = LoggingValue();
  const double exact = TrainedValue();
  EXPECT_GT(exact, logged + 0.1);
  config::v1::TrainOptions safe_options = options_;
  options_.mutable_poem()->set_optimiser(Poem::STOCHASTIC);
  options_.mutable_poem()->set_sampled_orders(10);
  EXPECT_NEAR(TrainedValue(), exact, 0.05);

  options_ = With(safe_options, "poem { failure_probability: 0.05 }");
  const double safe = TrainedValue();
  options_ = With(safe_options, "poem { failure_probability: 1e-4 }");
  EXPECT_GT(safe, logged);
  EXPECT_LT(safe, exact);
  EXPECT_LT(TrainedValue(), safe);
}

// The gate looks at rewards of whole orders, whatever taught the model.
TEST_F(RankTrainTest, TheGateLetsItPass) {
  Prepare("err", 6000, /*top_k=*/2);
  options_.set_force(false);
  options_.mutable_poem()->add_lambda(0);
  options_.mutable_poem()->set_rank_weights(Poem::PREFIXES);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_TRUE(report.gate_passed()) << FormatReport(report);
  EXPECT_EQ(report.version(), 2);
}

// What a few clicks must not forget.
TEST_F(RankTrainTest, LabelsAreThePriorOfClicks) {
  Prepare("err", 1500);
  LabelledQueries labelled;
  labelled.num_features = log_.num_features;
  for (int q = 0; q < 60; ++q) {
    LabelledQuery& query = labelled.queries.emplace_back();
    query.id = absl::StrCat("q", q);
    const log::v1::Decision decision =
        MakeTuple(log_, absl::StrCat("label", q)).decision();
    query.features.assign(decision.dense_values().begin(),
                          decision.dense_values().end());
    std::vector<int32_t> all(kRanks);
    std::iota(all.begin(), all.end(), 0);
    query.relevances = RelevancesOf(decision, all);
  }
  const std::string data = dir_.Sub("data") + "/labels.letor";
  ASSERT_OK(WriteFile(data, FormatLetor(labelled)));
  config::v1::TrainOptions from_labels;
  from_labels.set_learner("listnet");
  from_labels.set_action("rank");
  from_labels.add_data(data);
  from_labels.set_model_store(options_.model_store());
  from_labels.set_force(true);
  ASSERT_OK_AND_ASSIGN(const TrainReport labels, Train(from_labels));
  ASSERT_EQ(labels.version(), 2);
  ASSERT_OK_AND_ASSIGN(const StoredModel prior, store_.Load("default", 2));

  options_.set_baseline("log");
  options_.set_prior_version(2);
  Poem* const poem = options_.mutable_poem();
  poem->set_penalty(Poem::PROXIMAL);
  poem->clear_l2();
  poem->add_lambda(0);
  poem->set_start(Poem::PARENT);
  poem->set_rank_weights(Poem::PREFIXES);
  TrainReport report;
  const double value = TrainedValue(&report);
  EXPECT_GT(value, LoggingValue() + 0.1);
  // Untrained, and from the parent and the prior for each of three decisions.
  ASSERT_EQ(report.evaluation().grid_size(), 7);
  const auto n = static_cast<double>(report.evaluation().train_tuples());
  const auto& grid = report.evaluation().grid();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(grid[4 + i].start(), "prior");
    EXPECT_DOUBLE_EQ(grid[4 + i].l2(), std::pow(10, i + 1) / n);
  }
  // A prior that is worth a million decisions is not corrected.
  poem->add_prior_decisions(1e9);
  ASSERT_OK_AND_ASSIGN(const TrainReport held, Train(options_));
  ASSERT_OK_AND_ASSIGN(const StoredModel stored,
                       store_.Load("default", held.version()));
  const double alpha = prior.model.policy().inverse_temperature();
  for (int j = 0; j < stored.model.weights_size(); ++j) {
    EXPECT_NEAR(stored.model.weights(j), alpha * prior.model.weights(j), 1e-3);
  }

  options_.set_prior_version(7);
  EXPECT_THAT(Train(options_),
              IsFailedPrecondition("prior_version is 7, must be a version of"));
  options_.set_prior_version(2);
  poem->clear_prior_decisions();
  poem->set_penalty(Poem::NORM);
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("prior_version is 2, must be 0 unless "
                                "poem.penalty is PROXIMAL, which is NORM"));
  model::v1::Model other = LoggingModel({.num_features = 5});
  ASSERT_OK_AND_ASSIGN(
      const uint64_t selection,
      ModelStore(dir_.Sub("other")).Publish(other, nullptr, {}));
  options_.set_model_store(dir_.Sub("other"));
  options_.set_action("rank");
  options_.set_prior_version(selection);
  poem->set_penalty(Poem::PROXIMAL);
  EXPECT_THAT(Train(options_),
              IsFailedPrecondition("must be a version of the family"));
}

TEST_F(RankTrainTest, SaysWhatItCannotLearnFrom) {
  Prepare("err", 100);
  options_.mutable_poem()->set_rank_weights(Poem::PREFIXES);
  EXPECT_THAT(Train(With(options_, "action: 'select'")),
              IsInvalidArgument("action is 'select', must be rank as poem."));
  model::v1::Model selection = LoggingModel({});
  selection.set_name("selects");
  ASSERT_OK(store_.Publish(selection, nullptr, {}));
  EXPECT_THAT(Train(With(options_, "model: 'selects'")),
              IsInvalidArgument("version 1 of model 'selects' makes no "
                                "rankings, must do so as poem."));
  // Without a version in the store, the first decision tells.
  WriteSegment(dir_.Sub("selections"), 0, MakeTuples({}, 10));
  options_.set_tuples(dir_.Sub("selections"));
  options_.set_model_store(dir_.Sub("empty"));
  EXPECT_THAT(Train(options_), IsInvalidArgument("is no ranking, must be"));
}

TEST_F(RankTrainTest, LawsWithoutAGradientByRankAreRefused) {
  Prepare("err", 100);
  SyntheticLog log = log_;
  log.rank_factors = {1.5, 0.5};
  WriteSegment(dir_.Sub("factors"), 0, MakeRankTuples(log, *reader_, 100));
  options_.set_tuples(dir_.Sub("factors"));
  options_.mutable_poem()->set_rank_weights(Poem::PREFIXES);
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("version 1 is plackett_luce with rank_factors "
                                "and is learned as such, must be"));
}

// 60 candidates with 10 features: 2.4 kB each.
TEST(RankSpillTest, TheModelHasTheSameBytesSpilledOrNot) {
  const SyntheticLog log{.action_kind = ActionKind::kRank,
                         .num_features = 10,
                         .num_candidates = 60,
                         .top_k = 5};
  const TempDir dir;
  WriteSegment(dir.Sub("tuples"), 0, MakeRankTuples(log, ReaderOf("pbm"), 400));
  for (const bool is_exposure : {false, true}) {
    const ModelStore store(dir.Sub(absl::StrCat("models", is_exposure)));
    ASSERT_OK(store.Publish(LoggingModel(log), nullptr, {}));
    config::v1::TrainOptions options;
    options.set_tuples(dir.Sub("tuples"));
    options.set_model_store(dir.Sub(absl::StrCat("models", is_exposure)));
    options.set_scratch(dir.Sub("scratch"));
    options.set_reward_max(5);
    options.set_warmup_queries(4);
    options.set_force(true);
    Poem* const poem = options.mutable_poem();
    poem->mutable_adagrad()->set_max_epochs(4);
    poem->add_l2(1e-4);
    if (is_exposure) {
      poem->set_objective(Poem::EXPOSURE);
      for (int k = 0; k < 5; ++k) poem->add_examination(kExamination[k]);
    } else {
      poem->set_rank_weights(Poem::PREFIXES);
      poem->add_lambda(0.1);
    }
    std::vector<std::string> models;
    for (const uint64_t memory_mb : {64, 1}) {
      options.set_memory_mb(memory_mb);
      // So that both start from, and are compared with, version 1.
      options.set_baseline("log");
      ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options));
      EXPECT_EQ(report.kept_fraction(), 1);
      EXPECT_EQ(report.spilled_bytes() > 0, memory_mb == 1);
      ASSERT_OK_AND_ASSIGN(StoredModel stored,
                           store.Load("default", report.version()));
      stored.model.clear_provenance();
      stored.model.clear_version();
      models.push_back(stored.model.SerializeAsString());
    }
    EXPECT_TRUE(models[0] == models[1]) << is_exposure;
    EXPECT_GT(models[0].size(), 80);
  }
}

// Three of five candidates, of which document 1 is not eligible, are ranked.
class RankMarginalsTest : public testing::Test {
 protected:
  RankMarginalsTest() {
    options_.set_model_store(dir_.Sub("models"));
    log_ = {.action_kind = ActionKind::kRank,
            .num_features = 2,
            .num_candidates = 5,
            .top_k = 3};
  }

  // Publishes what logged as version 1.
  void Publish(const SyntheticLog& log) {
    ASSERT_OK(store_.Publish(LoggingModel(log), nullptr, {}));
  }

  static LinearPolicy PolicyOf(const SyntheticLog& log) {
    const model::v1::Model model = LoggingModel(log);
    return *LinearPolicy::Create(model);
  }

  // Returns a decision of version 1.
  log::v1::Decision Decide(const SyntheticLog& log, const std::string& id) {
    log::v1::Decision decision;
    decision.set_decision_id(id);
    decision.set_version(1);
    decision.set_action_kind(log::v1::RANK);
    decision.set_num_candidates(5);
    decision.set_num_features(2);
    decision.set_top_k(3);
    *decision.mutable_policy() = LoggingModel(log).policy();
    RandomSequence random(StableHash(HashDomain::kSimulation, {id}));
    for (int i = 0; i < 10; ++i) {
      decision.add_dense_values(static_cast<float>(random.Normal()));
    }
    for (int i = 0; i < 5; ++i) decision.add_eligible(i != 1);
    Draw draw;
    PolicyWorkspace workspace;
    PolicyOf(log).Decide(QueryOf(decision), DecisionKey("default", 1, id),
                         &workspace, &draw);
    decision.mutable_action()->Assign(draw.action.begin(), draw.action.end());
    decision.set_log_propensity(draw.log_propensity);
    decision.mutable_conditional_log_propensities()->Assign(
        draw.conditional_log_propensities.begin(),
        draw.conditional_log_propensities.end());
    return decision;
  }

  const TempDir dir_;
  const ModelStore store_{dir_.Sub("models")};
  config::v1::TrainOptions options_;
  SyntheticLog log_;
};

TEST_F(RankMarginalsTest, AreThoseOfAllOrders) {
  Publish(log_);
  const RankMarginals marginals = MakeRankMarginals(options_);
  const LinearPolicy policy = PolicyOf(log_);
  PolicyWorkspace workspace;
  for (const char* const id : {"a", "b"}) {
    const log::v1::Decision decision = Decide(log_, id);
    std::vector<double> expected(8, 0);
    std::vector<int32_t> documents = {0, 2, 3, 4};
    do {  // Each order of three comes once, with what is left behind it.
      const double p = std::exp(policy.LogPropensity(
          QueryOf(decision), std::span(documents).first(3), &workspace));
      for (size_t k = 0; k < 2; ++k) {
        const int32_t document = documents[k];
        expected[k * 4 + static_cast<size_t>(document > 1 ? document - 1
                                                          : document)] += p;
      }
    } while (std::next_permutation(documents.begin(), documents.end()));
    std::vector<double> computed;
    ASSERT_OK(marginals(decision, 2, &computed));
    EXPECT_THAT(computed, Pointwise(DoubleNear(1e-8), expected));
  }
}

TEST_F(RankMarginalsTest, WithoutAVersionOrdersAreUniform) {
  log::v1::Decision decision = Decide(log_, "a");
  decision.set_version(0);
  decision.clear_policy();
  decision.clear_conditional_log_propensities();
  for (const double left : {4, 3, 2}) {
    decision.add_conditional_log_propensities(-std::log(left));
  }
  std::vector<double> computed;
  ASSERT_OK(MakeRankMarginals(options_)(decision, 3, &computed));
  EXPECT_EQ(computed.size(), 12);
  EXPECT_THAT(computed, Each(DoubleNear(0.25, 1e-12)));
}

TEST_F(RankMarginalsTest, SayWhichVersionTheyDoNotKnow) {
  const log::v1::Decision decision = Decide(log_, "a");
  std::vector<double> computed;
  const auto is_unknown = [](const char* why) {
    return IsFailedPrecondition(
        "version 1 of model 'default', decision "
        "'a': ",
        why, "take PREFIXES");
  };
  EXPECT_THAT(MakeRankMarginals(options_)(decision, 3, &computed),
              is_unknown("version 1"));
  Publish(log_);
  const RankMarginals marginals = MakeRankMarginals(options_);
  EXPECT_OK(marginals(decision, 3, &computed));

  log::v1::Decision wrong = decision;
  wrong.set_conditional_log_propensities(
      1, wrong.conditional_log_propensities(1) - 1e-4);
  EXPECT_THAT(marginals(wrong, 3, &computed),
              is_unknown("conditional_log_propensities[1] is "));
  wrong = decision;
  wrong.mutable_interleaving();
  EXPECT_THAT(marginals(wrong, 3, &computed), is_unknown("another version"));
  wrong = decision;
  wrong.clear_conditional_log_propensities();
  EXPECT_THAT(marginals(wrong, 3, &computed),
              is_unknown("no propensity of each rank"));
  wrong = decision;
  wrong.set_num_features(1);
  wrong.set_num_candidates(10);
  wrong.clear_eligible();
  EXPECT_THAT(marginals(wrong, 3, &computed),
              is_unknown("num_features is 1, in the store 2"));
}

TEST_F(RankMarginalsTest, AreExactOrNotThere) {
  log_.sorted.emplace().set_swap_probability(0.5);
  Publish(log_);
  std::vector<double> computed;
  EXPECT_THAT(MakeRankMarginals(options_)(Decide(log_, "a"), 3, &computed),
              IsFailedPrecondition("is no plackett_luce without rank_factors"));
}

}  // namespace
}  // namespace sortition
