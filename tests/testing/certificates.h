#pragma once
// Certificates for tests, made by the openssl command.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/testing/child_process.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

// Signs certificates. Files are <prefix>.pem and <prefix>.key.
class CertificateAuthority {
 public:
  // `prefix`: of its own files.
  explicit CertificateAuthority(const std::string& prefix) : prefix_(prefix) {
    OpenSsl({"req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
             "/CN=authority", "-keyout", key(), "-out", certificate()});
  }

  std::string certificate() const { return prefix_ + ".pem"; }
  std::string key() const { return prefix_ + ".key"; }

  // Makes a key, and a certificate of 127.0.0.1 for so many days.
  void Sign(const std::string& prefix, int days) const {
    SignWith(prefix, days, {"ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"});
  }
  // As above with another kind of key, such as {"rsa:2048"}.
  void SignWith(const std::string& prefix, int days,
                const std::vector<std::string>& kind) const {
    const std::string request = prefix + ".csr";
    std::vector<std::string> arguments = {"req", "-newkey"};
    arguments.insert(arguments.end(), kind.begin(), kind.end());
    for (const std::string& argument :
         {std::string("-nodes"), std::string("-subj"), std::string("/CN=leaf"),
          std::string("-addext"),
          std::string("subjectAltName=DNS:sortition.test,IP:127.0.0.1"),
          std::string("-keyout"), prefix + ".key", std::string("-out"),
          request}) {
      arguments.push_back(argument);
    }
    OpenSsl(arguments);
    OpenSsl({"x509", "-req", "-in", request, "-CA", certificate(), "-CAkey",
             key(), "-CAcreateserial", "-copy_extensions", "copy", "-days",
             absl::StrCat(days), "-out", prefix + ".pem"});
  }

 private:
  static void OpenSsl(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "/usr/bin/openssl");
    const auto run = RunToEnd(arguments);
    ASSERT_OK(run);
    ASSERT_EQ(run->exit_code, 0) << run->stderr_text;
  }

  const std::string prefix_;
};

}  // namespace sortition
