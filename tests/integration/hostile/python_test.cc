// What other programs read from answers: that a policy abstained is no answer
// 0, and a request for more than there is gets all there is.
#include <grpcpp/client_context.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/rpc/client.h"
#include "io/files.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// The Python that has the runtime of protobuf.
std::optional<std::string> FindPython() {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    const std::string command =
        absl::StrCat(python, " -c 'import google.protobuf' >/dev/null 2>&1");
    if (std::system(command.c_str()) == 0) return python;
  }
  return std::nullopt;
}

constexpr char kScript[] = R"(
import sys
sys.path.insert(0, sys.argv[1])
from sortition.v1 import ranking_pb2
answer = ranking_pb2.SelectResponse.FromString(open(sys.argv[2], 'rb').read())
print(answer.abstained, answer.HasField('selected'), answer.selected)
)";

class AnswersTest : public testing::Test {
 protected:
  void Start(const model::v1::Model& model) {
    ASSERT_OK(deployment_.store().Publish(model, nullptr, {}));
    ASSERT_OK(deployment_.StartServer());
    auto client = Client::Connect(deployment_.address(), {.max_attempts = 1});
    ASSERT_OK(client.status());
    client_ = *std::move(client);
  }

  // Asks until the answer is that one.
  v1::SelectResponse SelectUntil(bool abstained) {
    v1::SelectResponse answer;
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      v1::SelectRequest request;
      *request.mutable_context() = MakeContext(5, 8, 1);
      const auto response = client_->Select(request);
      EXPECT_OK(response.status());
      answer = *response;
      return answer.abstained() == abstained;
    }));
    return answer;
  }

  Deployment deployment_;
  std::unique_ptr<Client> client_;
};

TEST_F(AnswersTest, PythonTellsAbstainingFromTheFirstCandidate) {
  const auto python = FindPython();
  if (!python.has_value()) {
    GTEST_SKIP() << "skipped: no python3-protobuf; ./dev setup test";
  }
  model::v1::Model model = SelectionModel(8, 0.1);
  model.mutable_policy()->mutable_softmax_selection()->set_abstain_score(1);
  Start(model);
  std::vector<std::string> protoc = {
      "/usr/bin/env", "protoc", absl::StrCat("-I", SORTITION_PROTO_DIRECTORY),
      absl::StrCat("--python_out=", deployment_.path(""))};
  for (const auto& file : std::filesystem::recursive_directory_iterator(
           SORTITION_PROTO_DIRECTORY "/sortition")) {
    if (file.path().extension() == ".proto") protoc.push_back(file.path());
  }
  ASSERT_OK_AND_ASSIGN(const FinishedProcess made, RunToEnd(protoc));
  ASSERT_EQ(made.exit_code, 0) << made.stderr_text;
  const std::string file = deployment_.path("answer");
  const auto read = [&](const v1::SelectResponse& answer) {
    EXPECT_OK(WriteFile(file, answer.SerializeAsString()));
    const auto run = RunToEnd(
        {"/usr/bin/env", *python, "-c", kScript, deployment_.path(""), file});
    EXPECT_OK(run);
    return run.ok() ? run->stdout_text + run->stderr_text : "";
  };
  EXPECT_EQ(read(SelectUntil(true)), "True False 0\n");
  const v1::SelectResponse answer = SelectUntil(false);
  EXPECT_EQ(read(answer), absl::StrCat("False True ", answer.selected(), "\n"));
}

// Three of five are eligible.
TEST_F(AnswersTest, TopKAboveTheCandidatesGivesAllAndSaysSo) {
  Start(RankingModel(8, 0.1));
  v1::RankRequest request;
  *request.mutable_context() = MakeContext(5, 8, 1);
  for (const bool eligible : {true, false, true, false, true}) {
    request.mutable_context()->add_eligible(eligible);
  }
  for (const uint32_t top_k : {4u, 5u, 6u, 4'000'000'000u}) {
    request.set_top_k(top_k);
    ASSERT_OK_AND_ASSIGN(const v1::RankResponse answer, client_->Rank(request));
    EXPECT_THAT(answer.order(), UnorderedElementsAre(0, 2, 4));
    EXPECT_THAT(answer.conditional_log_propensities(), SizeIs(3));
    EXPECT_THAT(answer.result().degraded(),
                HasSubstr(absl::StrCat("top_k = ", top_k)));
  }
  request.set_top_k(3);
  ASSERT_OK_AND_ASSIGN(const v1::RankResponse answer, client_->Rank(request));
  EXPECT_EQ(answer.result().degraded(), "");
}

}  // namespace
}  // namespace sortition
