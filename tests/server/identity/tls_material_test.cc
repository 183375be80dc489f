#include "server/identity/tls_material.h"

#include <cstdint>
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/certificates.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

class TlsMaterialTest : public testing::Test {
 protected:
  TlsMaterialTest() {
    authority_.Sign(dir_ / "a", 3);
    authority_.Sign(dir_ / "b", 3);
    options_.set_certificate_file(dir_ / "a.pem");
    options_.set_key_file(dir_ / "a.key");
  }

  absl::Status Read() const { return ReadTlsMaterial(options_).status(); }
  std::string File(const std::string& text) const {
    EXPECT_OK(WriteFile(dir_ / "file", text));
    return dir_ / "file";
  }

  const TempDir dir_;
  const CertificateAuthority authority_{dir_ / "authority"};
  config::v1::TlsOptions options_;
};

TEST_F(TlsMaterialTest, ReadsWhatFits) {
  options_.set_client_ca_file(authority_.certificate());
  const int64_t start = absl::ToUnixSeconds(absl::Now());
  ASSERT_OK_AND_ASSIGN(const TlsMaterial material, ReadTlsMaterial(options_));
  ASSERT_OK_AND_ASSIGN(const std::string key, ReadFile(dir_ / "a.key"));
  EXPECT_EQ(material.key, key);
  EXPECT_THAT(material.certificate_chain, HasSubstr("BEGIN CERTIFICATE"));
  EXPECT_THAT(material.client_ca, HasSubstr("BEGIN CERTIFICATE"));
  // Signed for three days shortly before the start.
  EXPECT_LE(material.expires_time_s, start + 3 * 86400);
  EXPECT_GT(material.expires_time_s, start + 2 * 86400);
}

TEST_F(TlsMaterialTest, RefusesTheKeyOfAnotherCertificate) {
  options_.set_key_file(dir_ / "b.key");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("tls.key_file = \""),
                                     HasSubstr("is not the key of "
                                               "tls.certificate_file"))));
}

TEST_F(TlsMaterialTest, NamesFilesThatAreNotWhatTheyShouldBe) {
  options_.set_certificate_file(dir_ / "none");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                               HasSubstr("tls.certificate_file = \"")));
  options_.set_certificate_file(File("no certificate"));
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                               HasSubstr("must hold certificates in PEM")));
  options_.set_certificate_file(dir_ / "a.pem");
  options_.set_key_file(dir_ / "a.pem");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                               HasSubstr("must hold a private key in PEM")));
  options_.set_key_file("/dev/zero");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                               HasSubstr("must be a PEM file")));
  options_.set_key_file(dir_ / "a.key");
  options_.set_client_ca_file(dir_ / "a.key");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                               HasSubstr("tls.client_ca_file = \"")));
}

// gRPC would end the chain at the second certificate, and clients that need it
// would refuse the server.
TEST_F(TlsMaterialTest, EachCertificateOfTheChainMustBeReadable) {
  ASSERT_OK_AND_ASSIGN(const std::string own, ReadFile(dir_ / "a.pem"));
  ASSERT_OK_AND_ASSIGN(const std::string authority,
                       ReadFile(authority_.certificate()));
  options_.set_certificate_file(File(own + "# The authority:\n" + authority));
  EXPECT_OK(Read());
  std::string damaged = authority;
  damaged[authority.size() / 2] = '!';
  const std::string cut = authority.substr(0, authority.size() / 2);
  for (const std::string& second : {damaged, cut}) {
    options_.set_certificate_file(File(own + second));
    EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                                 AllOf(HasSubstr("tls.certificate_file = \""),
                                       HasSubstr("certificate 2 of the file "
                                                 "cannot be read"))));
  }
  options_.set_certificate_file(dir_ / "a.pem");
  options_.set_client_ca_file(File(authority + damaged));
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("tls.client_ca_file = \""),
                                     HasSubstr("certificate 2"))));
}

// OpenSSL refuses such keys at the security level of Debian.
TEST_F(TlsMaterialTest, RefusesWeakKeys) {
  authority_.SignWith(dir_ / "weak", 3, {"rsa:1024"});
  options_.set_certificate_file(dir_ / "weak.pem");
  options_.set_key_file(dir_ / "weak.key");
  EXPECT_THAT(Read(), StatusIs(StatusCode::kInvalidArgument,
                               AllOf(HasSubstr("tls.certificate_file = \""),
                                     HasSubstr("key too small"))));
  authority_.SignWith(dir_ / "strong", 3, {"rsa:2048"});
  options_.set_certificate_file(dir_ / "strong.pem");
  options_.set_key_file(dir_ / "strong.key");
  EXPECT_OK(Read());
}

TEST_F(TlsMaterialTest, TheChainExpiresWithItsFirstCertificate) {
  authority_.Sign(dir_ / "short", 1);
  ASSERT_OK_AND_ASSIGN(const std::string own, ReadFile(dir_ / "a.pem"));
  ASSERT_OK_AND_ASSIGN(const std::string other, ReadFile(dir_ / "short.pem"));
  const int64_t start = absl::ToUnixSeconds(absl::Now());
  options_.set_certificate_file(File(own + other));
  ASSERT_OK_AND_ASSIGN(const TlsMaterial material, ReadTlsMaterial(options_));
  EXPECT_LE(material.expires_time_s, start + 86400);
  EXPECT_GT(material.expires_time_s, start);
}

}  // namespace
}  // namespace sortition
