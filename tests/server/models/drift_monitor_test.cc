#include "server/models/drift_monitor.h"

#include <string>
#include <vector>

#include "core/features/feature_learning.h"
#include "core/features/feature_transform.h"
#include "core/features/schema/made_up_columns.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr char kSpec[] = R"(
schema {
  column { name: 'price' type: NUMBER }
  column { name: 'color' type: CATEGORY }
  column { name: 'shelf' type: NUMBER }
}
transform { number { column: 'price' standardise: true } }
transform { number { column: 'shelf' } }
)";
constexpr int64_t kSecond = 1'000'000;

class DriftMonitorTest : public testing::Test {
 protected:
  void SetUp() override {
    model::v1::FeatureSpec spec;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kSpec, &spec));
    std::vector<v1::Columns> queries;
    const Schema schema = *Schema::Create(spec.schema());
    for (int i = 0; i < 400; ++i) {
      queries.push_back(MakeUpColumns(schema, 10, &random_));
    }
    ASSERT_OK_AND_ASSIGN(
        const auto features,
        LearnFeatures(spec, [&](QueryVisitor visit) -> absl::Status {
          for (const v1::Columns& query : queries) {
            const absl::Status status = visit(query);
            if (!status.ok()) return status;
          }
          return absl::OkStatus();
        }));
    transform_ =
        std::make_unique<FeatureTransform>(*FeatureTransform::Create(features));
    ASSERT_OK_AND_ASSIGN(monitor_, DriftMonitor::Create(transform_->schema(),
                                                        features.learned()));
  }

  // Serves a query with prices that are so much higher than in training.
  void Serve(double higher, int64_t time_us, uint32_t num_candidates = 10) {
    v1::Columns columns =
        MakeUpColumns(transform_->schema(), num_candidates, &random_);
    for (v1::Column& column : *columns.mutable_candidate()) {
      if (column.name() != "price") continue;
      for (double& value : *column.mutable_numbers()->mutable_values()) {
        value += higher;
      }
    }
    FeatureMatrix features;
    ASSERT_OK(transform_->Apply(columns, &scratch_, &features));
    monitor_->Offer(scratch_.columns(), features, time_us);
  }

  RandomSequence random_{SeedKey(1)};
  std::unique_ptr<FeatureTransform> transform_;
  std::shared_ptr<DriftMonitor> monitor_;
  FeatureScratch scratch_;
};

TEST_F(DriftMonitorTest, NamesWhatMovedAndNothingElse) {
  for (int i = 0; i < 400; ++i) Serve(2, i * kSecond);
  const auto figures = monitor_->TopMovers(10, 400 * kSecond);
  ASSERT_THAT(figures, SizeIs(5));
  // The column and the feature that is made of it.
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_THAT(figures[i].name, HasSubstr("price"));
    EXPECT_GT(figures[i].stability_index, 0.5);
    EXPECT_EQ(figures[i].count, 4000u);
  }
  for (size_t i = 2; i < 5; ++i) {
    EXPECT_THAT(figures[i].name, Not(HasSubstr("price")));
    EXPECT_LT(figures[i].stability_index, 0.05);
  }
  EXPECT_THAT(monitor_->TopMovers(1, 400 * kSecond), SizeIs(1));
}

TEST_F(DriftMonitorTest, ForgetsWhatIsOld) {
  for (int i = 0; i < 400; ++i) Serve(2, i * kSecond);
  // Still there in the next window, gone in the one after it.
  const int64_t next = DriftMonitor::kWindowUs + kSecond;
  EXPECT_GT(monitor_->TopMovers(10, next)[0].stability_index, 0.5);
  const int64_t last = next + DriftMonitor::kWindowUs;
  for (int i = 0; i < 200; ++i) Serve(0, last + i * kSecond);
  EXPECT_LT(monitor_->TopMovers(10, last + 200 * kSecond)[0].stability_index,
            0.05);
  EXPECT_THAT(monitor_->TopMovers(10, last + 10 * DriftMonitor::kWindowUs),
              IsEmpty());
}

TEST_F(DriftMonitorTest, CountsSoManyValuesASecondAndOfAQuery) {
  // Five values for each of ten candidates.
  const uint64_t most = DriftMonitor::kMostPerSecond / 50;
  for (uint64_t i = 0; i < most + 100; ++i) Serve(2, kSecond);
  EXPECT_EQ(monitor_->TopMovers(1, kSecond)[0].count, 10 * most);
  // Of a huge query every fourth candidate.
  constexpr uint64_t kHuge = 4 * (DriftMonitor::kMostOfQuery / 5);
  Serve(2, 2 * kSecond, kHuge);
  EXPECT_EQ(monitor_->TopMovers(1, 2 * kSecond)[0].count,
            10 * most + kHuge / 4);
}

TEST_F(DriftMonitorTest, SaysNothingOfFewValues) {
  for (int i = 0; i < 10; ++i) Serve(2, i * kSecond);
  EXPECT_THAT(monitor_->TopMovers(10, 10 * kSecond), IsEmpty());
}

TEST(DriftGaugesTest, ShowsTheseAndNoOthers) {
  Metrics metrics;
  DriftGauges gauges(&metrics);
  const DriftFigure price{"price", false, 0.5, 1000, 10};
  const DriftFigure length{"log1p(length)", true, 0.25, 1000, 10};
  gauges.Set({{"m", 3, {price, length}}});
  EXPECT_THAT(metrics.Text(),
              HasSubstr("sortition_drift{kind=\"column\",model=\"m\",name="
                        "\"price\",version=\"3\"} 0.5"));
  EXPECT_THAT(metrics.Text(), HasSubstr("name=\"log1p(length)\""));
  gauges.Set({{"m", 4, {length}}});
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("name=\"price\"")));
  EXPECT_THAT(metrics.Text(), Not(HasSubstr("version=\"3\"")));
  EXPECT_THAT(metrics.Text(), HasSubstr("version=\"4\""));
}

}  // namespace
}  // namespace sortition
