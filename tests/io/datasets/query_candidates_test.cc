#include "io/datasets/query_candidates.h"

#include "io/datasets/letor.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::ElementsAre;

v1::Candidates CandidatesOf(const std::string& text) {
  const auto data = ParseLetor(text);
  EXPECT_OK(data);
  v1::Candidates candidates;
  SetQueryCandidates(data->queries[0], data->num_features, &candidates);
  return candidates;
}

TEST(QueryCandidatesTest, AbsentFeaturesStayAbsent) {
  const v1::Candidates candidates =
      CandidatesOf("1 qid:a 1:0 3:7\n0 qid:a\n0 qid:a 2:6\n");
  EXPECT_EQ(candidates.num_features(), 3u);
  ASSERT_TRUE(candidates.has_sparse());
  EXPECT_THAT(candidates.sparse().row_offsets(), ElementsAre(0u, 2u, 2u, 3u));
  EXPECT_THAT(candidates.sparse().columns(), ElementsAre(0u, 2u, 1u));
  EXPECT_THAT(candidates.sparse().values(), ElementsAre(0.0f, 7.0f, 6.0f));
}

TEST(QueryCandidatesTest, RowsThatStateAllAreDense) {
  const v1::Candidates candidates =
      CandidatesOf("1 qid:a 1:0 2:7\n0 qid:a 1:1 2:0\n");
  ASSERT_TRUE(candidates.has_dense());
  EXPECT_THAT(candidates.dense().values(), ElementsAre(0.0f, 7.0f, 1.0f, 0.0f));
}

}  // namespace
}  // namespace sortition
