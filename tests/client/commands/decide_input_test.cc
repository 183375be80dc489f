#include "client/commands/decide_input.h"

#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;

absl::StatusOr<v1::RankRequest> RequestOf(
    const std::string& text, const config::v1::DecideOptions& options = {}) {
  return MakeRequest<v1::RankRequest>(options, text);
}

// What an absent feature is, the model decides.
TEST(DecideInputTest, AbsentFeaturesAreLeftToTheModel) {
  ASSERT_OK_AND_ASSIGN(const v1::RankRequest request,
                       RequestOf("1 1:5 3:0\n0 qid:1 2:6 # doc\n"));
  const v1::Candidates& candidates = request.context().candidates();
  EXPECT_EQ(candidates.num_features(), 3u);
  ASSERT_TRUE(candidates.has_sparse());
  EXPECT_THAT(candidates.sparse().row_offsets(), ElementsAre(0u, 2u, 3u));
  EXPECT_THAT(candidates.sparse().columns(), ElementsAre(0u, 2u, 1u));
  EXPECT_THAT(candidates.sparse().values(), ElementsAre(5.0f, 0.0f, 6.0f));
}

TEST(DecideInputTest, LinesThatStateAllAreDense) {
  ASSERT_OK_AND_ASSIGN(const v1::RankRequest request,
                       RequestOf("1 1:5 2:0\n0 1:7 2:6\n"));
  EXPECT_THAT(request.context().candidates().dense().values(),
              ElementsAre(5.0f, 0.0f, 7.0f, 6.0f));
}

TEST(DecideInputTest, OtherToolsFilesAreReadByOption) {
  config::v1::DecideOptions options;
  EXPECT_THAT(RequestOf("\xef\xbb\xbf"
                        "1 0:5 1:1.797e308\n",
                        options),
              IsInvalidArgument("first_feature = 0"));
  options.mutable_label_files()->set_first_feature(0);
  EXPECT_THAT(RequestOf("1 0:5 1:1.797e308\n", options),
              IsInvalidArgument("extreme_values = MISSING"));
  options.mutable_label_files()->set_extreme_values(
      config::v1::LabelFileOptions::MISSING);
  ASSERT_OK_AND_ASSIGN(const v1::RankRequest request,
                       RequestOf("\xef\xbb\xbf"
                                 "1 0:5 1:1.797e308\n",
                                 options));
  EXPECT_THAT(request.context().candidates().sparse().values(),
              ElementsAre(5.0f));
  EXPECT_EQ(request.context().candidates().num_features(), 2u);
}

// Score lists have no missing scores.
TEST(DecideInputTest, AbsentScoresOfListsAreZero) {
  v1::DecisionContext context;
  ASSERT_OK(internal::FillFromLetor("0 qid:1 1:5\n0 qid:1 2:6\n", {},
                                    internal::AbsentFeatures::kAreZero,
                                    &context));
  EXPECT_THAT(context.candidates().dense().values(),
              ElementsAre(5.0f, 0.0f, 0.0f, 6.0f));
}

}  // namespace
}  // namespace sortition
