// The client library and a server that is killed and comes back. The client is
// alone in its process: a server in it would drive its connection too.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/rpc/client.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

v1::SelectRequest Request(const std::string& decision_id) {
  v1::SelectRequest request;
  *request.mutable_context() = MakeContext(3, 8, 0);
  request.mutable_context()->set_decision_id(decision_id);
  return request;
}

// gRPC's own backup poll would reconnect after 5 s or more.
TEST(ReconnectTest, FirstCallAfterTheRestartIsAnswered) {
  Deployment deployment;
  ASSERT_OK(deployment.StartServer());
  const std::string address = deployment.address();
  ASSERT_OK_AND_ASSIGN(
      const auto client,
      Client::Connect(address, {.deadline_seconds = 2, .max_attempts = 1000}));
  for (int round = 0; round < 3; ++round) {
    ASSERT_OK(client->Select(Request(absl::StrCat("before", round))));
    deployment.server().Kill();
    EXPECT_FALSE(client->Select(Request(absl::StrCat("gone", round))).ok());
    ASSERT_OK(deployment.StartServer({absl::StrCat("--listen=", address)}));
    ASSERT_OK(client->Select(Request(absl::StrCat("after", round))));
  }
}

}  // namespace
}  // namespace sortition
