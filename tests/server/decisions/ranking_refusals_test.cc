// Refusals of wrong requests to the data plane.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/decisions/ranking_service_fixture.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using RankingRefusalsTest = RankingServiceTest;

struct BadRequest {
  std::string name;
  std::function<void(v1::DecisionContext*)> spoil;
  StatusCode code;
  // The field, the value and the permitted range.
  std::vector<std::string> words;
};

std::vector<BadRequest> BadContexts() {
  const auto invalid = StatusCode::kInvalidArgument;
  const auto dense = [](uint32_t d, std::vector<float> values) {
    return [=](v1::DecisionContext* c) { SetDense(d, values, c); };
  };
  const auto sparse = [](std::vector<uint32_t> offsets,
                         std::vector<uint32_t> columns,
                         std::vector<float> values) {
    return [=](v1::DecisionContext* c) {
      auto& s = *c->mutable_candidates()->mutable_sparse();
      s.mutable_row_offsets()->Assign(offsets.begin(), offsets.end());
      s.mutable_columns()->Assign(columns.begin(), columns.end());
      s.mutable_values()->Assign(values.begin(), values.end());
    };
  };
  const auto mask = [](std::vector<bool> eligible) {
    return [=](v1::DecisionContext* c) {
      for (const bool e : eligible) c->add_eligible(e);
    };
  };
  const auto id = [](std::string text) {
    return [=](v1::DecisionContext* c) { c->set_decision_id(text); };
  };
  const auto ids = [](std::vector<std::string> texts) {
    return [=](v1::DecisionContext* c) {
      for (const auto& text : texts) c->mutable_candidates()->add_ids(text);
    };
  };
  return {
      {"NanFeature",
       dense(2, {1, 2, 3, kNan}),
       invalid,
       {"dense", "row 1, column 1", "nan", "finite"}},
      {"InfiniteFeature",
       dense(2, {kInfinity, 2}),
       invalid,
       {"dense", "row 0, column 0", "inf", "finite"}},
      {"RowColumnMismatch",
       dense(2, {1, 2, 3}),
       invalid,
       {"dense", "3 values", "multiple", "2"}},
      {"NoCandidates",
       dense(2, {}),
       invalid,
       {"dense", "0 candidates", "[1, 5]"}},
      {"TooManyCandidates",
       dense(2, std::vector<float>(12)),
       invalid,
       {"dense", "6 candidates", "[1, 5]", "limits.max_candidates"}},
      {"NoFeatures",
       [](auto* c) { c->mutable_candidates()->clear_dense(); },
       invalid,
       {"context.candidates.features", "unset", "dense, sparse or columns"}},
      {"ZeroNumFeatures",
       dense(0, {1, 2}),
       invalid,
       {"num_features = 0", "[1, 10]"}},
      {"TooManyFeatures",
       dense(11, std::vector<float>(11)),
       invalid,
       {"num_features = 11", "[1, 10]", "limits.max_features"}},
      {"NotTheModelsFeatures",
       dense(3, {1, 2, 3}),
       invalid,
       {"num_features = 3", "must be 2"}},
      {"SparseWithoutOffsets",
       sparse({}, {}, {}),
       invalid,
       {"sparse", "0 candidates", "[1, 5]"}},
      {"SparseFirstOffset",
       sparse({1, 1}, {0}, {1}),
       invalid,
       {"sparse", "row_offsets[0] is 1", "must be 0"}},
      {"SparseOffsetsDecrease",
       sparse({0, 2, 1}, {0}, {1}),
       invalid,
       {"sparse", "row_offsets[2] is 1", "at least 2"}},
      {"SparseOffsetsEnd",
       sparse({0, 2}, {0}, {1}),
       invalid,
       {"sparse", "row_offsets[1] is 2", "must be 1"}},
      {"SparseColumnRange",
       sparse({0, 1}, {2}, {1}),
       invalid,
       {"sparse", "columns[0]", "is 2", "below num_features = 2"}},
      {"SparseColumnOrder",
       sparse({0, 2}, {1, 1}, {1, 1}),
       invalid,
       {"sparse", "columns[1]", "is 1", "above 1"}},
      {"SparseValues",
       sparse({0, 1}, {0}, {1, 2}),
       invalid,
       {"sparse", "2 values", "must have 1"}},
      {"SparseNan",
       sparse({0, 0, 1}, {1}, {kNan}),
       invalid,
       {"sparse", "row 1, column 1", "nan"}},
      {"SparseTooMany",
       sparse({0, 0, 0, 0, 0, 0, 0}, {}, {}),
       invalid,
       {"sparse", "6 candidates", "[1, 5]"}},
      {"NoneEligible",
       mask({false, false, false}),
       invalid,
       {"context.eligible", "0 true", "1 to 3"}},
      {"EligibleLength",
       mask({true, true}),
       invalid,
       {"context.eligible has 2", "must have 3"}},
      {"IdsLength",
       ids({"a"}),
       invalid,
       {"context.candidates.ids has 1", "must have 3"}},
      {"IdTooLong",
       ids({"a", std::string(129, 'x'), "c"}),
       invalid,
       {"ids[1]", "129 bytes", "at most 128"}},
      {"DecisionIdTooLong",
       id(std::string(129, 'x')),
       invalid,
       {"context.decision_id", "129 bytes", "at most 128"}},
      {"DecisionIdControl",
       id("a\nb"),
       invalid,
       {"context.decision_id", "a\\nb", "control character at byte 1"}},
      {"DecisionIdDelete", id("a\x7F"), invalid, {"control character"}},
      {"DecisionIdOverlong",
       id("\xC0\x80"),
       invalid,
       {"invalid UTF-8 at byte 0"}},
      {"DecisionIdSurrogate",
       id("x\xED\xA0\x80"),
       invalid,
       {"invalid UTF-8 at byte 1"}},
      {"DecisionIdCutShort",
       id("x\xE2\x82"),
       invalid,
       {"invalid UTF-8 at byte 1"}},
      {"UnitIdTooLong",
       [](auto* c) { c->set_unit_id(std::string(129, 'x')); },
       invalid,
       {"context.unit_id", "129 bytes", "at most 128"}},
      {"UnitIdControl",
       [](auto* c) { c->set_unit_id("a\nb"); },
       invalid,
       {"context.unit_id", "a\\nb", "control character at byte 1"}},
      {"TooManyAttributes",
       [](auto* c) {
         for (int i = 0; i < 17; ++i) {
           (*c->mutable_attributes())[std::to_string(i)] = "x";
         }
       },
       invalid,
       {"context.attributes", "17 entries", "at most 16"}},
      {"AttributeWithoutName",
       [](auto* c) { (*c->mutable_attributes())[""] = "x"; },
       invalid,
       {"context.attributes", "name", "0 bytes", "1 to 64"}},
      {"AttributeNameTooLong",
       [](auto* c) { (*c->mutable_attributes())[std::string(65, 'x')] = "x"; },
       invalid,
       {"context.attributes", "65 bytes", "1 to 64"}},
      {"AttributeNameControl",
       [](auto* c) { (*c->mutable_attributes())["a\n"] = "x"; },
       invalid,
       {"context.attributes, name", "control character at byte 1"}},
      {"AttributeValueTooLong",
       [](auto* c) {
         (*c->mutable_attributes())["device"] = std::string(129, 'x');
       },
       invalid,
       {"context.attributes", "device", "129 bytes", "at most 128"}},
      {"UnknownModel",
       [](auto* c) { c->set_model("nobody"); },
       StatusCode::kNotFound,
       {"context.model = \"nobody\": no such model; must be one of boltzmann, "
        "default, order, pick, or empty for default"}},
      {"VersionNotLoaded",
       [](auto* c) { c->set_version(7); },
       StatusCode::kFailedPrecondition,
       {"context.version = 7", "must be one of 1,"}},
  };
}

class BadContextTest : public RankingServiceTest,
                       public testing::WithParamInterface<BadRequest> {};

TEST_P(BadContextTest, IsRefusedBySelectAndRankAndNotLogged) {
  const BadRequest& bad = GetParam();
  v1::SelectRequest select = GoodSelect();
  bad.spoil(select.mutable_context());
  v1::RankRequest rank = GoodRank();
  bad.spoil(rank.mutable_context());
  for (const absl::Status& status : {Select(select), Rank(rank)}) {
    EXPECT_EQ(status.code(), bad.code) << status;
    for (const std::string& word : bad.words) {
      EXPECT_THAT(std::string(status.message()), HasSubstr(word));
    }
  }
  EXPECT_THAT(Logged(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, BadContextTest, testing::ValuesIn(BadContexts()),
                         [](const auto& test) { return test.param.name; });

TEST_F(RankingRefusalsTest, LongestAndUnicodeIdsAreFine) {
  v1::SelectRequest request = GoodSelect();
  request.mutable_context()->set_decision_id(std::string(128, 'x'));
  EXPECT_OK(Select(request));
  request.mutable_context()->set_decision_id(
      "żółć-\xF0\x9F\x8E\xB2-\xEF\xBF\xBD");
  EXPECT_OK(Select(request));
}

TEST_F(RankingRefusalsTest, BadTopKIsRefused) {
  v1::RankRequest request = GoodRank();
  request.set_top_k(0);
  EXPECT_THAT(Rank(request),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("top_k = 0: must be at least 1")));
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(RankingRefusalsTest, ModelsAnswerOnlyTheirKindOfAction) {
  v1::RankRequest rank = GoodRank();
  rank.mutable_context()->set_model("pick");
  EXPECT_THAT(Rank(rank),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("\"pick\""),
                             HasSubstr("softmax_selection, which answers "
                                       "Select, not Rank"))));
  v1::SelectRequest select = GoodSelect();
  select.mutable_context()->set_model("order");
  EXPECT_THAT(Select(select), StatusIs(StatusCode::kFailedPrecondition,
                                       HasSubstr("Rank, not Select")));
  EXPECT_THAT(Logged(), IsEmpty());
}

}  // namespace
}  // namespace sortition
