// Aggregate with the real programs: request, log, join, verify.
#include <grpcpp/client_context.h>
#include <signal.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/rpc/client.h"
#include "gmock/gmock.h"
#include "tests/integration/deployment.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kAggregateDecisions = 200;

class AggregateLoopTest : public testing::Test {
 protected:
  std::string Run(const std::vector<std::string>& words) {
    std::vector<std::string> arguments = words;
    arguments[0] = BinaryPath(words[0]);
    const auto run = RunToEnd(arguments);
    EXPECT_OK(run);
    if (!run.ok()) return "";
    EXPECT_EQ(run->exit_code, 0) << run->stdout_text << run->stderr_text;
    return run->stdout_text;
  }

  // A request for 20 candidates by three sources, with a drawn order.
  static v1::AggregateRequest Request(int number) {
    v1::AggregateRequest request;
    v1::DecisionContext* context = request.mutable_context();
    context->set_decision_id(absl::StrCat("a", number));
    context->mutable_candidates()->set_num_features(3);
    for (int i = 0; i < 60; ++i) {
      context->mutable_candidates()->mutable_dense()->add_values(
          static_cast<float>((i * 17 + number * 31) % 23));
    }
    request.mutable_aggregation()->add_weights(1);
    request.mutable_aggregation()->add_weights(0.5);
    request.mutable_aggregation()->add_weights(2);
    if (number % 2 == 0) request.set_concentration(5);
    if (number % 4 == 0) request.set_uniform_mixture(0.1);
    if (number % 3 == 0) {
      request.mutable_aggregation()->set_scale(v1::Aggregation::RANK);
    }
    request.set_top_k(10);
    return request;
  }

  Deployment deployment_;
};

TEST_F(AggregateLoopTest, IsAskedLoggedJoinedAndVerified) {
  ASSERT_OK(deployment_.StartServer());
  ASSERT_OK(deployment_.StartSidecar({JoinWindow(1), "--segment_seconds=0.5"}));
  const std::string lists = deployment_.path("lists.csv");
  std::ofstream(lists) << "id,bm25,neural\na,1,5\nb,2,3\nc,3,4\n";
  EXPECT_THAT(Run({"sortition", "aggregate", "--lists=" + lists,
                   "--server=" + deployment_.address()}),
              AllOf(HasSubstr("propensity  1 "), HasSubstr("neural")));
  ASSERT_OK_AND_ASSIGN(const auto client,
                       Client::Connect(deployment_.address()));
  for (int number = 0; number < kAggregateDecisions; ++number) {
    ASSERT_OK(client->Aggregate(Request(number)));
  }
  size_t tuples = 0;
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    const auto ids = TupleIds(deployment_.tuples());
    tuples = ids.ok() ? ids->size() : 0;
    return tuples > kAggregateDecisions;
  }));
  EXPECT_EQ(tuples, kAggregateDecisions + 1u);
  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
  deployment_.sidecar().Signal(SIGTERM);
  EXPECT_EQ(deployment_.sidecar().Wait(kPatienceSeconds), 0);
  EXPECT_THAT(Run({"sortition", "log", "verify", deployment_.tuples()}),
              HasSubstr(" 0 different, 0 corrupt"));
  // Half of them and the command's were not drawn.
  EXPECT_THAT(
      Run({"sortition", "log", "stats", deployment_.tuples(), "--output=json"}),
      HasSubstr(
          absl::StrCat("\"without_full_support\":",
                       1 + kAggregateDecisions / 2 + kAggregateDecisions / 4)));
  // Only the command's candidates have ids; bm25 has the pair the other way
  // round.
  const std::string pairs = deployment_.path("pairs.csv");
  std::ofstream(pairs) << "better,worse\na,c\n";
  EXPECT_THAT(Run({"sortition-trainer", "cluster",
                   "--tuples=" + deployment_.tuples(), "--pairs=" + pairs}),
              AllOf(HasSubstr("; 0: 100.0 %"), HasSubstr("; 1: 0.0 %")));
}

}  // namespace
}  // namespace sortition
