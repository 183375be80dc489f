// Requests with named columns: what serves, what is logged, and what trains and
// verifies have the same bits.
#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/logs/log_verify.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "io/models/successor.h"
#include "tests/server/decisions/ranking_service_fixture.h"
#include "tests/testing/column_model.h"
#include "trainer/frames/model_frame.h"

namespace sortition {
namespace {

using absl::StatusCode;
using google::protobuf::util::MessageDifferencer;
using testing::HasSubstr;

class ColumnRequestsTest : public RankingServiceTest {
 protected:
  ColumnRequestsTest() : model_(MakeColumnModel("columns", 1)) {
    // Decisions are small, but there are many.
    options_.mutable_spool()->set_segment_bytes(uint64_t{64} << 20);
    model_.set_version(Publish(options_.model_store(), model_));
    schema_ = *Schema::Create(model_.features().spec().schema());
  }

  v1::SelectRequest Request(const v1::Columns& columns,
                            const std::string& decision_id) {
    v1::SelectRequest request;
    request.mutable_context()->set_model("columns");
    request.mutable_context()->set_decision_id(decision_id);
    *request.mutable_context()->mutable_candidates()->mutable_columns() =
        columns;
    return request;
  }

  v1::Columns Good() {
    RandomSequence random(SeedKey(5));
    return MakeUpColumns(schema_, 3, &random);
  }

  absl::Status Try(const v1::Columns& columns) {
    return Select(Request(columns, "try"));
  }

  model::v1::Model model_;
  Schema schema_ = *Schema::Create(ColumnSpec().schema());
};

uint64_t Bits(double value) { return std::bit_cast<uint64_t>(value); }

TEST_F(ColumnRequestsTest, TrainerServerAndVerifyHaveTheSameBits) {
  constexpr int kRequests = 10'000;
  RandomSequence random(SeedKey(7));
  std::vector<v1::Columns> sent;
  std::vector<std::vector<double>> scores;
  for (int i = 0; i < kRequests; ++i) {
    const auto n = static_cast<uint32_t>(1 + random.Below(5));
    sent.push_back(MakeUpColumns(schema_, n, &random));
    v1::SelectRequest request = Request(sent.back(), absl::StrCat("d-", i));
    request.mutable_context()->set_return_scores(true);
    ASSERT_OK(Select(request));
    scores.emplace_back(select_.result().scores().begin(),
                        select_.result().scores().end());
  }
  const auto records = Logged();
  ASSERT_EQ(records.size(), static_cast<size_t>(kRequests));
  ASSERT_OK_AND_ASSIGN(const ModelFrame frame, FrameOf(model_));
  const std::vector<double> weights(model_.weights().begin(),
                                    model_.weights().end());
  DecisionVerifier verifier{ModelStore(options_.model_store())};
  ModelFeatureScratch scratch;
  for (size_t i = 0; i < records.size(); ++i) {
    const log::v1::Decision& decision = records[i].decision();
    EXPECT_TRUE(MessageDifferencer::Equals(decision.columns(), sent[i]));
    EXPECT_EQ(decision.num_candidates(), sent[i].num_candidates());
    EXPECT_EQ(decision.num_features(), 0u);
    ASSERT_OK_AND_ASSIGN(
        const DecisionView trained,
        ViewFeatures(decision, frame.features.get(), &scratch));
    for (uint32_t row = 0; row < sent[i].num_candidates(); ++row) {
      ASSERT_EQ(Bits(trained.candidates.Score(row, weights)),
                Bits(scores[i][row]));
    }
    ASSERT_OK_AND_ASSIGN(const auto difference, verifier.Difference(decision));
    ASSERT_FALSE(difference.has_value()) << *difference;
  }
}

TEST_F(ColumnRequestsTest, OrderOfColumnsDoesNotCount) {
  RandomSequence random(SeedKey(8));
  for (int i = 0; i < 50; ++i) {
    v1::Columns columns = MakeUpColumns(schema_, 4, &random);
    ASSERT_OK(Try(columns));
    const v1::SelectResponse before = select_;
    std::reverse(columns.mutable_candidate()->begin(),
                 columns.mutable_candidate()->end());
    ASSERT_OK(Try(columns));
    EXPECT_EQ(select_.selected(), before.selected());
    EXPECT_EQ(Bits(select_.result().log_propensity()),
              Bits(before.result().log_propensity()));
  }
}

TEST_F(ColumnRequestsTest, NamesWhatIsWrong) {
  v1::Columns columns = Good();
  const std::string name = columns.candidate(0).name();
  columns.mutable_candidate(0)->set_name("colour");
  EXPECT_THAT(
      Try(columns),
      StatusIs(
          StatusCode::kInvalidArgument,
          AllOf(HasSubstr(absl::StrCat("context.candidates.columns: "
                                       "column '",
                                       name, "' is absent")),
                HasSubstr("the model does not read 'colour' (version 1 of the "
                          "model)"))));
  columns = Good();
  v1::Column* const first = columns.mutable_candidate(0);
  first->mutable_texts()->clear_values();
  EXPECT_THAT(Try(columns),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr(first->name())));
  columns = Good();
  columns.set_num_candidates(4);
  EXPECT_THAT(Try(columns),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("column '")));
  columns = Good();
  columns.set_num_candidates(6);
  EXPECT_THAT(Try(columns),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("context.candidates.columns holds 6 "
                                 "candidates: must be in [1, 5]")));
  columns = Good();
  columns.clear_candidate();
  EXPECT_THAT(Try(columns),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("context.candidates.columns.candidate is "
                                 "empty: must have at least one column")));
  v1::SelectRequest request = Request(Good(), "d");
  request.mutable_context()->mutable_candidates()->set_num_features(3);
  EXPECT_THAT(Select(request), StatusIs(StatusCode::kInvalidArgument,
                                        HasSubstr("must be unset where")));
}

TEST_F(ColumnRequestsTest, ModelsTakeEitherColumnsOrFeatures) {
  v1::SelectRequest request = GoodSelect();
  request.mutable_context()->set_model("columns");
  EXPECT_THAT(Select(request),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("context.candidates.dense is set: must be "
                                 "columns; the model has a schema of 10")));
  request = Request(Good(), "d");
  request.mutable_context()->set_model("pick");
  EXPECT_THAT(Select(request),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("the model has no schema, and takes 2")));
}

// Nobody has declared them yet, but they are logged to learn from.
TEST_F(ColumnRequestsTest, UniformModelTakesAnyColumns) {
  v1::SelectRequest request = Request(Good(), "d");
  request.mutable_context()->set_model("");
  ASSERT_OK(Select(request));
  EXPECT_NEAR(select_.result().log_propensity(), -std::log(3), 1e-15);
  v1::Columns columns = Good();
  *columns.add_candidate() = columns.candidate(0);
  request = Request(columns, "e");
  request.mutable_context()->set_model("");
  EXPECT_THAT(Select(request),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr(columns.candidate(0).name())));
  const auto records = Logged();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_TRUE(
      MessageDifferencer::Equals(records[0].decision().columns(), Good()));
  DecisionVerifier verifier{ModelStore(options_.model_store())};
  ASSERT_OK_AND_ASSIGN(const auto difference,
                       verifier.Difference(records[0].decision()));
  EXPECT_FALSE(difference.has_value());
}

// Adds a column that the model reads.
void AddColumn(const std::string& name, model::v1::ColumnSchema::Type type,
               model::v1::Model* model) {
  auto* column =
      model->mutable_features()->mutable_spec()->mutable_schema()->add_column();
  column->set_name(name);
  column->set_type(type);
  model->mutable_features()->set_schema_hash(
      Schema::Create(model->features().spec().schema())->hash());
  *model->mutable_features()->mutable_learned()->add_column() =
      model->features().learned().column(0);
}

TEST_F(ColumnRequestsTest, VersionsMayReadOtherColumns) {
  const ModelStore store(options_.model_store());
  model::v1::Model other = MakeColumnModel("columns", 2);
  EXPECT_OK(store.Publish(other, nullptr, {}));
  AddColumn("more", model::v1::ColumnSchema::NUMBER, &other);
  EXPECT_OK(store.Publish(other, nullptr, {}));
  other = MakeColumnModel("columns", 2);
  EXPECT_OK(store.Publish(other, nullptr, {}));
  // Only a type is fixed.
  other.mutable_features()->mutable_spec()->mutable_schema()->clear_column();
  AddColumn("price", model::v1::ColumnSchema::TEXT, &other);
  other.mutable_features()->mutable_spec()->clear_transform();
  EXPECT_THAT(store.Publish(MakeSelectModel("columns", {1, 2}), nullptr, {}),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("features is unset")));
  EXPECT_EQ(WhyNoSuccessor(model_, other),
            "features: column 'price' is a TEXT of the candidates, must be a "
            "NUMBER of the candidates");
}

TEST_F(ColumnRequestsTest, LogsAndCountsWhatTheVersionDoesNotRead) {
  v1::Columns columns = Good();
  ASSERT_OK(Select(Request(columns, "before")));
  const v1::SelectResponse before = select_;
  v1::Column* const added = columns.add_candidate();
  added->set_name("new");
  for (uint32_t i = 0; i < columns.num_candidates(); ++i) {
    added->mutable_texts()->add_values("x");
  }
  const auto count = [&](const std::string& name) {
    return metrics_
        .Counter("sortition_unread_columns_total", "",
                 {{"model", "columns"}, {"column", name}})
        ->value();
  };
  ASSERT_OK(Select(Request(columns, "before")));
  EXPECT_EQ(select_.selected(), before.selected());
  EXPECT_EQ(Bits(select_.result().log_propensity()),
            Bits(before.result().log_propensity()));
  EXPECT_EQ(count("new"), 1);
  added->mutable_texts()->add_values("one too many");
  EXPECT_THAT(Select(Request(columns, "bad")),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("column 'new': has 4 values, must have 3")));
  added->mutable_texts()->mutable_values()->RemoveLast();
  for (size_t i = 0; i < 2 * DecisionMetrics::kMaxUnreadColumns; ++i) {
    added->set_name(absl::StrCat("new", i));
    ASSERT_OK(Select(Request(columns, absl::StrCat("d", i))));
  }
  EXPECT_EQ(count("new0"), 1);
  EXPECT_EQ(count(""), DecisionMetrics::kMaxUnreadColumns + 1);
  const auto records = Logged();
  ASSERT_EQ(records.size(), 2 + 2 * DecisionMetrics::kMaxUnreadColumns);
  EXPECT_TRUE(
      MessageDifferencer::Equals(records.back().decision().columns(), columns));
  DecisionVerifier verifier{ModelStore(options_.model_store())};
  ASSERT_OK_AND_ASSIGN(const auto difference,
                       verifier.Difference(records.back().decision()));
  EXPECT_FALSE(difference.has_value()) << *difference;
}

}  // namespace
}  // namespace sortition
