// Who made which control call, from where, and whether it was let in.
#include <grpcpp/client_context.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/rpc/client.h"
#include "io/files.h"
#include "tests/integration/deployment.h"
#include "tests/testing/certificates.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

class AuditTest : public testing::Test {
 protected:
  StatusCode ListModels(const SecurityOptions& security) const {
    const auto client = Client::Connect(deployment_.address(),
                                        {.deadline_seconds = kPatienceSeconds,
                                         .max_attempts = 1,
                                         .security = security});
    EXPECT_OK(client.status());
    return (*client)->ListModels().status().code();
  }

  // Returns the audit lines, once there are as many as calls.
  std::vector<std::string> Lines(size_t calls) {
    EXPECT_TRUE(
        PollUntil(kPatienceSeconds, [&] { return Lines().size() >= calls; }));
    return Lines();
  }
  std::vector<std::string> Lines() {
    std::vector<std::string> lines;
    for (const absl::string_view line :
         absl::StrSplit(deployment_.server().StderrText(), '\n')) {
      if (absl::StrContains(line, "\"message\":\"audit\"")) {
        lines.emplace_back(line);
      }
    }
    return lines;
  }

  Deployment deployment_;
};

TEST_F(AuditTest, WhereNobodyNeedsATokenTheAddressIsKnown) {
  ASSERT_OK(deployment_.StartServer());
  EXPECT_EQ(ListModels({}), StatusCode::kOk);
  ASSERT_THAT(Lines(1), SizeIs(1));
  EXPECT_THAT(Lines()[0], AllOf(HasSubstr("\"method\":\"ListModels\""),
                                HasSubstr("\"caller\":\"\""),
                                HasSubstr("\"certificate\":\"\""),
                                HasSubstr("\"peer\":\"ipv4:127.0.0.1:"),
                                HasSubstr("\"code\":\"OK\"")));
}

TEST_F(AuditTest, NamesTheCertificateOfTheClient) {
  const CertificateAuthority authority(deployment_.path("authority"));
  const std::string server = deployment_.path("server-identity");
  const std::string client = deployment_.path("client");
  authority.Sign(server, 1);
  authority.Sign(client, 1);
  ASSERT_OK(deployment_.StartServer(
      {absl::StrCat("--tls.certificate_file=", server, ".pem"),
       absl::StrCat("--tls.key_file=", server, ".key"),
       "--tls.client_ca_file=" + authority.certificate()}));
  EXPECT_EQ(ListModels({.ca_file = authority.certificate(),
                        .certificate_file = client + ".pem",
                        .key_file = client + ".key"}),
            StatusCode::kOk);
  ASSERT_THAT(Lines(1), SizeIs(1));
  EXPECT_THAT(Lines()[0], AllOf(HasSubstr("\"certificate\":\"leaf\""),
                                HasSubstr("\"code\":\"OK\"")));
}

// A flood of refused calls does not become a flood of lines, and every one of
// them is counted.
TEST_F(AuditTest, OfRefusedCallsSomeAreWrittenAndTheOthersCounted) {
  const std::string tokens = deployment_.path("tokens");
  ASSERT_OK(WriteFile(tokens, absl::StrCat("admin x ", std::string(64, '0'))));
  ASSERT_OK(deployment_.StartServer({"--token_file=" + tokens}));
  const auto client = Client::Connect(
      deployment_.address(),
      {.deadline_seconds = kPatienceSeconds, .max_attempts = 1});
  ASSERT_OK(client.status());
  uint64_t calls = 0;
  const auto call = [&] {
    ++calls;
    EXPECT_EQ((*client)->ListModels().status().code(),
              StatusCode::kUnauthenticated);
  };
  for (int i = 0; i < 300; ++i) call();
  // Until the next second has come, and with it a line that tells the rest.
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    call();
    uint64_t known = 0;
    for (const std::string& line : Lines()) {
      uint64_t left_out = 0;
      EXPECT_TRUE(absl::SimpleAtoi(
          line.substr(line.find("\"left_out\":") + 11,
                      line.find('}') - line.find("\"left_out\":") - 11),
          &left_out))
          << line;
      known += 1 + left_out;
    }
    EXPECT_LE(known, calls);
    return known == calls && calls > Lines().size();
  }));
  EXPECT_LT(Lines().size(), calls);
  EXPECT_THAT(Lines()[0], HasSubstr("\"code\":\"UNAUTHENTICATED\""));
}

}  // namespace
}  // namespace sortition
