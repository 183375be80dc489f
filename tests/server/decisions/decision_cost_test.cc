#include "server/decisions/decision_cost.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/spool/spool_writer.h"
#include "server/decisions/aggregate_service.h"
#include "server/decisions/ranking_service.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/column_model.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

bool IsLong(const model::v1::Policy& policy, uint32_t n, uint32_t size) {
  return DrawSeconds(policy, n, size) > kLongSeconds;
}

// What was measured (docs/operations.md): a cell of a sized subset takes some 9
// ns, the sums over the sets of 16 items 2 ms, games of F-score no one knows.
TEST(DecisionCostTest, KnowsWhatTakesMilliseconds) {
  model::v1::Policy rank;
  rank.mutable_plackett_luce();
  EXPECT_FALSE(IsLong(rank, 1000, 10));
  EXPECT_TRUE(IsLong(rank, 20'000, 1));
  rank.mutable_plackett_luce()->add_rank_factors(2);
  EXPECT_FALSE(IsLong(rank, 1000, 0)) << "one rank on its own";
  for (int r = 1; r < 100; ++r) {
    rank.mutable_plackett_luce()->add_rank_factors(1);
  }
  EXPECT_FALSE(IsLong(rank, 1000, 10));
  EXPECT_TRUE(IsLong(rank, 1000, 0)) << "a hundred ranks";
  model::v1::Policy sized;
  sized.mutable_independent_subset();
  EXPECT_FALSE(IsLong(sized, 1000, 0));
  EXPECT_FALSE(IsLong(sized, 1000, 50));
  EXPECT_TRUE(IsLong(sized, 1000, 500));
  model::v1::Policy head;
  head.mutable_boltzmann_ranking();
  EXPECT_FALSE(IsLong(head, 100, 0)) << "12 by default";
  head.mutable_boltzmann_ranking()->set_head(16);
  EXPECT_TRUE(IsLong(head, 100, 0));
  EXPECT_FALSE(IsLong(head, 12, 0)) << "no more than there are";
  model::v1::Policy game;
  game.mutable_game_subset();
  EXPECT_FALSE(IsLong(game, 1000, 10)) << "of precision";
  EXPECT_TRUE(IsLong(game, 100, 0)) << "of F-score";
  EXPECT_FALSE(IsLong(game, 10, 0));
  EXPECT_LE(AggregateSeconds(100, 10, 0), kLongSeconds);
  EXPECT_GT(AggregateSeconds(10'000, 10, 0), kLongSeconds);
  EXPECT_GT(AggregateSeconds(100, 10, 1'000'000), kLongSeconds);
}

TEST(DecisionCostTest, FeaturesTakeTimeBySizeOfModelAndQuery) {
  ServedModel model;
  PolicyQuery query;
  v1::Columns columns;
  columns.set_num_candidates(100);
  query.columns = &columns;
  EXPECT_LT(*FeatureSeconds(model, query), 1e-6);
  model.num_trees = 100;
  EXPECT_LE(*FeatureSeconds(model, query), kLongSeconds);
  model.num_trees = 1000;
  EXPECT_GT(*FeatureSeconds(model, query), kLongSeconds);
  model.num_trees = 0;
  model.num_units = 64;
  model.num_connections = 64 * 1000;
  EXPECT_GT(*FeatureSeconds(model, query), kLongSeconds);
}

// A few bytes of a query that are crossed with each candidate cost much.
TEST(DecisionCostTest, KnowsWhatCrossesTake) {
  const model::v1::Model model = MakeColumnModel("m", 1);
  const FeatureTransform transform =
      *FeatureTransform::Create(model.features());
  ServedModel served;
  served.transform = &transform;
  RandomSequence random(SeedKey(1));
  v1::Columns columns = MakeUpColumns(transform.schema(), 5, &random);
  PolicyQuery query;
  query.columns = &columns;
  EXPECT_LE(*FeatureSeconds(served, query), kLongSeconds);
  for (v1::Column& column : *columns.mutable_query()) {
    if (column.name() != "question") continue;
    column.clear_missing();
    column.mutable_texts()->set_values(0, std::string(20'000, 'a'));
  }
  EXPECT_GT(*FeatureSeconds(served, query), kLongSeconds);
}

// Where it would take too long, nothing is decided or logged; where it may, the
// same request is.
TEST(DecisionCostTest, LongDecisionsAreMadeWhereTheyMay) {
  const TempDir directory;
  auto model = MakeModel("m", {1, 2});
  model.mutable_policy()->mutable_independent_subset()->set_k(500);
  Publish(directory / "models", model);
  config::v1::ServerOptions options;
  options.set_model_store(directory / "models");
  options.set_default_model("m");
  options.mutable_spool()->set_dir(directory / "spool");
  Metrics metrics;
  ModelRegistry registry(options, &metrics);
  ASSERT_OK(registry.Start());
  {
    ASSERT_OK_AND_ASSIGN(const auto spool,
                         SpoolWriter::Open(options.spool(), ""));
    RankingService ranking(options.limits(), &registry, spool.get(), &metrics);
    AggregateService aggregates(options.limits(), spool.get(), &metrics);
    DecisionScratch scratch;
    v1::LabelRequest label;
    SetDense(2, std::vector<float>(2000, 1), label.mutable_context());
    v1::LabelResponse labelled;
    v1::AggregateRequest aggregate;
    *aggregate.mutable_context() = label.context();
    aggregate.set_bootstrap_samples(10'000);
    v1::AggregateResponse aggregated;
    scratch.may_take_long = false;
    EXPECT_FALSE(ranking.Label(label, &scratch, &labelled).ok());
    EXPECT_GT(scratch.long_seconds, kLongSeconds);
    scratch.long_seconds = 0;
    EXPECT_FALSE(aggregates.Aggregate(aggregate, &scratch, &aggregated).ok());
    EXPECT_GT(scratch.long_seconds, kLongSeconds);
    EXPECT_EQ(spool->stats().records, 0);
    scratch.may_take_long = true;
    EXPECT_OK(ranking.Label(label, &scratch, &labelled));
    EXPECT_THAT(labelled.chosen(), SizeIs(500));
    EXPECT_OK(aggregates.Aggregate(aggregate, &scratch, &aggregated));
    EXPECT_THAT(aggregated.pairs(), testing::Not(IsEmpty()));
    EXPECT_EQ(spool->stats().records, 2);
    // What is small is decided anywhere.
    scratch.may_take_long = false;
    scratch.long_seconds = 0;
    label.set_k(3);
    EXPECT_OK(ranking.Label(label, &scratch, &labelled));
    EXPECT_EQ(scratch.long_seconds, 0);
  }
  EXPECT_THAT(ReadSpool(directory / "spool"), SizeIs(3));
}

}  // namespace
}  // namespace sortition
