#include "tests/testing/status_matchers.h"
#include "tests/trainer/trees/tree_queries.h"
#include "trainer/trees/tree_training.h"
#include "trainer/trees/xgboost_booster.h"

namespace sortition {
namespace {

TEST(NoTreeTrainingTest, SaysWhatIsMissing) {
  EXPECT_FALSE(HasXgboost());
  const TreeQueries train({.num_queries = 1}, 1);
  EXPECT_THAT(TrainTrees(train.views(), {}, {}),
              StatusIs(absl::StatusCode::kUnimplemented,
                       testing::HasSubstr("SORTITION_XGBOOST")));
}

}  // namespace
}  // namespace sortition
