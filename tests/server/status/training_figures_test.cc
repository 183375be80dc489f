#include "server/status/training_figures.h"

#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using model::v1::TrainingRun;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

TrainingRun MakeRun(const std::string& kind, TrainingRun::Outcome outcome,
                    int exit_status, int64_t last_success_us) {
  TrainingRun run;
  run.set_kind(kind);
  run.set_time_us(5'000'000);
  run.set_outcome(outcome);
  run.set_exit_status(exit_status);
  run.set_last_success_us(last_success_us);
  run.set_verdict("reward of decision 'x' is 2");
  run.set_next_step("Set the range.");
  run.set_damaged_records(7);
  return run;
}

TEST(TrainingFiguresTest, AFailedRunIsAWarningAndOthersAreNot) {
  status::v1::Status status;
  status::v1::Warning& logged = *status.add_warnings();
  logged.set_time_us(1'000'000);
  status::v1::Model& model = *status.mutable_server()->add_models();
  model.set_name("m");
  SetRuns({MakeRun("prune", TrainingRun::DONE, 0, 1),
           MakeRun("rollout", TrainingRun::NOT_YET, 4, 0),
           MakeRun("train", TrainingRun::FAILED, 1, 0)},
          model.mutable_runs());
  EXPECT_THAT(model.runs(), SizeIs(3));
  AddRunWarnings(&status);
  ASSERT_THAT(status.warnings(), SizeIs(2));
  const status::v1::Warning& warning = status.warnings(0);
  EXPECT_EQ(warning.level(), "error");
  EXPECT_EQ(warning.time_us(), 5'000'000);
  EXPECT_THAT(warning.message(),
              HasSubstr("sortition-trainer train failed: reward of decision"));
  EXPECT_THAT(warning.details(), HasSubstr("model=m exit_status=1"));
}

TEST(TrainingMetricsTest, SayWhenARunSucceededAndHowTheLastOneEnded) {
  Metrics metrics;
  TrainingMetrics training(&metrics);
  auto figures = std::make_shared<StoredFigures>();
  figures->runs = {MakeRun("train", TrainingRun::FAILED, 1, 3'500'000)};
  training.Set({{"m", figures}});
  EXPECT_THAT(
      metrics.Text(),
      HasSubstr(R"(sortition_training_last_status{kind="train",model="m"} 1)"));
  EXPECT_THAT(
      metrics.Text(),
      HasSubstr("sortition_training_last_success_timestamp_seconds{kind="
                R"("train",model="m"} 3.5)"));
  EXPECT_THAT(
      metrics.Text(),
      HasSubstr(
          R"(sortition_training_damaged_records{kind="train",model="m"} 7)"));
  // What has never succeeded has no time.
  figures->runs = {MakeRun("train", TrainingRun::NOT_YET, 4, 0)};
  training.Set({{"m", figures}});
  EXPECT_THAT(metrics.Text(), HasSubstr(R"(model="m"} 4)"));
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("last_success_timestamp")));
  // The first run of its kind has no result yet.
  figures->runs = {MakeRun("train", TrainingRun::RUNNING, 0, 0)};
  training.Set({{"m", figures}});
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("sortition_training")));
  // Models go.
  training.Set({});
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("sortition_training")));
}

}  // namespace
}  // namespace sortition
