// Who may call the server: TLS, client certificates, tokens and roles, with the
// real programs.
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/rpc/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/certificates.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::Not;

// @TOKEN@ stands for its SHA-256.
constexpr char kTokens[] = R"(
# Roles, name, hash of the token, end of its time.
decide front-end @decider@
feedback collector @reporter@
admin ops @operator@
decide,feedback,admin everything @all@ 2999-12-31
decide,feedback,admin former @late@ 2020-01-31T12:00:00Z
)";

class IdentityTest : public testing::Test {
 protected:
  IdentityTest() {
    EXPECT_OK(deployment_.store().Publish(RankingModel(8, 0.1), nullptr, {}));
  }

  // Replaces @TOKEN@ by its hash.
  static std::string WithHashes(std::string text) {
    for (size_t begin; (begin = text.find('@')) != text.npos;) {
      const size_t end = text.find('@', begin + 1);
      text.replace(begin, end + 1 - begin,
                   HashOf(text.substr(begin + 1, end - begin - 1)));
    }
    return text;
  }
  static std::string HashOf(const std::string& token) {
    const auto run = RunToEnd(
        {"/bin/sh", "-c", absl::StrCat("printf %s ", token, " | sha256sum")});
    EXPECT_OK(run);
    return run.ok() ? run->stdout_text.substr(0, 64) : "";
  }

  std::string Write(const std::string& name, const std::string& text) const {
    const std::string path = deployment_.path(name);
    EXPECT_OK(WriteFile(path, text));
    return path;
  }

  std::unique_ptr<Client> Connect(const SecurityOptions& security) const {
    auto client = Client::Connect(deployment_.address(),
                                  {.deadline_seconds = kPatienceSeconds,
                                   .max_attempts = 1,
                                   .security = security});
    EXPECT_OK(client);
    return client.ok() ? *std::move(client) : nullptr;
  }

  static absl::StatusCode RankBy(Client* client) {
    v1::RankRequest request;
    *request.mutable_context() = MakeContext(5, 8, 1);
    return client->Rank(request).status().code();
  }
  absl::StatusCode Rank(const SecurityOptions& security) const {
    return RankBy(Connect(security).get());
  }

  double Metric(const std::string& name) const {
    const auto text = deployment_.ServerMetrics();
    return text.ok() ? MetricSum(*text, name) : -1;
  }

  Deployment deployment_;
};

class TlsTest : public IdentityTest {
 protected:
  TlsTest() {
    authority_.Sign(deployment_.path("client"), 1);
    Rotate(1);
  }

  // Gives the server another key and certificate, for so many days.
  void Rotate(int days) {
    const std::string next = deployment_.path("next");
    authority_.Sign(next, days);
    std::filesystem::rename(next + ".pem", server_ + ".pem");
    std::filesystem::rename(next + ".key", server_ + ".key");
  }

  std::vector<std::string> Flags(bool mutual) const {
    std::vector<std::string> flags = {
        absl::StrCat("--tls.certificate_file=", server_, ".pem"),
        absl::StrCat("--tls.key_file=", server_, ".key")};
    if (mutual) {
      flags.push_back("--tls.client_ca_file=" + authority_.certificate());
    }
    return flags;
  }
  SecurityOptions Trusting() const {
    return {.ca_file = authority_.certificate()};
  }
  SecurityOptions Mutual() const {
    return {.ca_file = authority_.certificate(),
            .certificate_file = deployment_.path("client") + ".pem",
            .key_file = deployment_.path("client") + ".key"};
  }

  const CertificateAuthority authority_{deployment_.path("authority")};
  const std::string server_ = deployment_.path("server-identity");
};

TEST_F(TlsTest, OnlyEncryptedCallsToATrustedServerSucceed) {
  ASSERT_OK(deployment_.StartServer(Flags(false)));
  EXPECT_EQ(Rank(Trusting()), absl::StatusCode::kOk);
  SecurityOptions named = Trusting();
  named.server_name = "sortition.test";
  EXPECT_EQ(Rank(named), absl::StatusCode::kOk);
  named.server_name = "another.test";
  EXPECT_EQ(Rank(named), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Rank({}), absl::StatusCode::kUnavailable);  // Plaintext.
  const CertificateAuthority stranger(deployment_.path("stranger"));
  EXPECT_EQ(Rank({.ca_file = stranger.certificate()}),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(Rank(Trusting()), absl::StatusCode::kOk);
}

TEST_F(TlsTest, ClientsNeedACertificateOfTheAuthority) {
  ASSERT_OK(deployment_.StartServer(Flags(true)));
  EXPECT_EQ(Rank(Mutual()), absl::StatusCode::kOk);
  EXPECT_EQ(Rank(Trusting()), absl::StatusCode::kUnavailable);
  const CertificateAuthority stranger(deployment_.path("stranger"));
  stranger.Sign(deployment_.path("forged"), 1);
  SecurityOptions forged = Mutual();
  forged.certificate_file = deployment_.path("forged") + ".pem";
  forged.key_file = deployment_.path("forged") + ".key";
  EXPECT_EQ(Rank(forged), absl::StatusCode::kUnavailable);
  EXPECT_EQ(Rank(Mutual()), absl::StatusCode::kOk);
}

TEST_F(TlsTest, CertificatesRotateUnderLoadWithoutAFailure) {
  ASSERT_OK(deployment_.StartServer(Flags(true)));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> answered{0};
  std::atomic<uint64_t> failed{0};
  std::vector<std::jthread> load;
  for (int i = 0; i < 2; ++i) {
    load.emplace_back([&] {
      while (!stop) {
        // New connections, which get the certificate of their time.
        const auto client = Connect(Mutual());
        for (int call = 0; call < 10; ++call) {
          ++(RankBy(client.get()) == absl::StatusCode::kOk ? answered : failed);
        }
      }
    });
  }
  constexpr char kExpiry[] = "sortition_certificate_expiry_timestamp_seconds";
  double expiry = Metric(kExpiry);
  for (int days = 2; days <= 5; ++days) {
    Rotate(days);
    const uint64_t before = answered;
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      return Metric(kExpiry) > expiry && answered > before + 40;
    }));
    expiry = Metric(kExpiry);
  }
  // What is wrong never replaces what was right.
  const double failures = Metric("sortition_identity_reload_failures_total");
  Write("server-identity.pem", "not a certificate");
  const uint64_t before = answered;
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return Metric("sortition_identity_reload_failures_total") > failures &&
           answered > before + 40;
  }));
  EXPECT_EQ(Metric(kExpiry), expiry);
  stop = true;
  load.clear();
  EXPECT_EQ(failed, 0u);
}

class TokenTest : public IdentityTest {
 protected:
  TokenTest() { Write("tokens", WithHashes(kTokens)); }

  std::string Flag() const {
    return "--token_file=" + deployment_.path("tokens");
  }
  // Connects with this token; empty: without one.
  std::unique_ptr<Client> ConnectAs(const std::string& token) const {
    if (token.empty()) return Connect({});
    return Connect({.token_file = Write("token-" + token, token + "\n")});
  }

  // The status of each method, for a caller with this token.
  std::map<std::string, absl::StatusCode> CallAll(
      const std::string& token) const {
    const auto client = ConnectAs(token);
    v1::RankRequest rank;
    *rank.mutable_context() = MakeContext(5, 8, 1);
    v1::SelectRequest select;
    *select.mutable_context() = rank.context();
    v1::LabelRequest label;
    *label.mutable_context() = rank.context();
    v1::RankStreamRequest streamed;
    *streamed.mutable_rank() = rank;
    v1::ReportFeedbackRequest feedback;
    feedback.add_feedback()->set_decision_id("d");
    v1::ReportShownRequest shown;
    shown.set_decision_id("d");
    shown.set_not_shown(true);
    return {
        {"Rank", client->Rank(rank).status().code()},
        {"Select", client->Select(select).status().code()},
        {"Label", client->Label(label).status().code()},
        {"Aggregate", client->Aggregate({}).status().code()},
        {"RankStream", client->RankStream({streamed}).status().code()},
        {"ReportShown", client->ReportShown(shown).status().code()},
        {"ReportFeedback", client->ReportFeedback(feedback).status().code()},
        {"ListModels", client->ListModels().status().code()},
    };
  }
};

TEST_F(TokenTest, EachMethodNeedsItsRole) {
  ASSERT_OK(deployment_.StartServer({Flag()}));
  const std::set<std::string> decide = {"Rank", "Select", "Label", "Aggregate",
                                        "RankStream"};
  const std::set<std::string> feedback = {"ReportShown", "ReportFeedback"};
  const auto is_refusal = [](absl::StatusCode code) {
    return code == absl::StatusCode::kUnauthenticated ||
           code == absl::StatusCode::kPermissionDenied;
  };
  for (const auto& [method, code] : CallAll("decider")) {
    EXPECT_EQ(code == absl::StatusCode::kPermissionDenied,
              !decide.contains(method))
        << method << " " << code;
  }
  for (const auto& [method, code] : CallAll("reporter")) {
    EXPECT_EQ(code == absl::StatusCode::kPermissionDenied,
              !feedback.contains(method))
        << method << " " << code;
  }
  for (const auto& [method, code] : CallAll("operator")) {
    EXPECT_EQ(code == absl::StatusCode::kPermissionDenied,
              method != "ListModels")
        << method << " " << code;
  }
  for (const auto& [method, code] : CallAll("all")) {
    EXPECT_FALSE(is_refusal(code)) << method << " " << code;
  }
  for (const std::string token : {"", "late", "unknown"}) {
    for (const auto& [method, code] : CallAll(token)) {
      EXPECT_EQ(code, absl::StatusCode::kUnauthenticated)
          << token << " " << method;
    }
  }
  ExpectLogged(deployment_.server(),
               "\"message\":\"audit\",\"method\":\"ListModels\","
               "\"caller\":\"ops\"");
  ExpectLogged(deployment_.server(), "\"code\":\"PERMISSION_DENIED\"");
  const std::string log = deployment_.server().StderrText();
  for (const char* token : {"decider", "reporter", "operator", "unknown"}) {
    EXPECT_THAT(log, Not(HasSubstr(token)));
  }
  // What was refused was not decided: Rank and RankStream of two callers were.
  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
  int decisions = 0;
  ASSERT_OK(VisitRecords(deployment_.spool(), true, [&](const auto& record) {
    decisions += record.has_decision() ? 1 : 0;
  }));
  EXPECT_EQ(decisions, 4);
}

TEST_F(TokenTest, ChangesOfTheFileAreTakenUpUnlessTheyAreWrong) {
  ASSERT_OK(deployment_.StartServer({Flag()}));
  const auto newcomer = ConnectAs("newcomer");
  EXPECT_EQ(RankBy(newcomer.get()), absl::StatusCode::kUnauthenticated);
  const std::string with_newcomer =
      WithHashes(absl::StrCat(kTokens, "decide newcomer @newcomer@\n"));
  Write("tokens", with_newcomer);
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return RankBy(newcomer.get()) == absl::StatusCode::kOk;
  }));
  Write("tokens", "decide somebody newcomer\n");
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return Metric("sortition_identity_reload_failures_total") == 1;
  }));
  EXPECT_EQ(RankBy(newcomer.get()), absl::StatusCode::kOk);
  ExpectLogged(deployment_.server(), "line 1: the hash has 8 characters");
  Write("tokens", WithHashes(kTokens));
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return RankBy(newcomer.get()) == absl::StatusCode::kUnauthenticated;
  }));
}

// A port of its own for control calls, which the other one refuses.
TEST_F(TokenTest, ControlCallsMayHaveAPortOfTheirOwn) {
  ASSERT_OK(deployment_.StartServer({Flag(), "--control_listen=127.0.0.1:0"}));
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       ReadFile(deployment_.path("server.ports")));
  int port = 0;
  ASSERT_EQ(
      sscanf(text.c_str(), "rpc %*d metrics %*d http %*d control %d", &port), 1)
      << text;
  EXPECT_EQ(ConnectAs("all")->ListModels().status().code(),
            absl::StatusCode::kUnimplemented);
  const auto control = [&](const std::string& token) {
    const auto client = Client::Connect(
        absl::StrCat("127.0.0.1:", port),
        {.max_attempts = 1,
         .security = {.token_file = Write("token-" + token, token)}});
    EXPECT_OK(client);
    return (*client)->ListModels().status().code();
  };
  EXPECT_EQ(control("operator"), absl::StatusCode::kOk);
  EXPECT_EQ(control("decider"), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(RankBy(ConnectAs("decider").get()), absl::StatusCode::kOk);
  const auto decides_there =
      Client::Connect(absl::StrCat("127.0.0.1:", port),
                      {.max_attempts = 1,
                       .security = {.token_file = Write("token-all", "all")}});
  ASSERT_OK(decides_there);
  EXPECT_EQ(RankBy(decides_there->get()), absl::StatusCode::kUnimplemented);
  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);
}

TEST_F(TokenTest, TokensThatOthersCouldReadAreRefusedAtTheStart) {
  const auto start = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> arguments = {
        BinaryPath("sortition-server"), "--model_store=" + deployment_.models(),
        "--metrics_listen=", "--http.listen=", Flag()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const auto run = RunToEnd(arguments);
    EXPECT_OK(run);
    return run.value_or(FinishedProcess{});
  };
  const FinishedProcess open = start({"--listen=0.0.0.0:0"});
  EXPECT_EQ(open.exit_code, 2);
  EXPECT_THAT(open.stderr_text, HasSubstr("readable on the way"));
  const FinishedProcess control =
      start({"--listen=127.0.0.1:0", "--control_listen=0.0.0.0:0"});
  EXPECT_EQ(control.exit_code, 2);
  EXPECT_THAT(control.stderr_text, HasSubstr("with control_listen"));
  const FinishedProcess check = start({"--listen=0.0.0.0:0", "--check_config",
                                       "--tls.client_ca_file=/nowhere"});
  EXPECT_EQ(check.exit_code, 2);
  EXPECT_THAT(check.stdout_text, HasSubstr("tls.client_ca_file"));
}

}  // namespace
}  // namespace sortition
