#include "tests/testing/nats_credentials.h"

#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <functional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/check.h"

namespace sortition {
namespace {

constexpr size_t kKeySize = 32;

// Kinds of keys, as the first letter of their text.
constexpr uint8_t kOperator = 14 << 3;
constexpr uint8_t kAccount = 0 << 3;
constexpr uint8_t kUser = 20 << 3;
constexpr uint8_t kSeed = 18 << 3;

// CRC-16/XMODEM.
uint16_t Checksum(const std::string& bytes) {
  uint32_t sum = 0;
  for (const char byte : bytes) {
    sum ^= static_cast<uint32_t>(static_cast<uint8_t>(byte)) << 8;
    for (int bit = 0; bit < 8; ++bit) {
      sum = (sum & 0x8000) != 0 ? (sum << 1) ^ 0x1021 : sum << 1;
    }
  }
  return static_cast<uint16_t>(sum);
}

// RFC 4648, without padding.
std::string Base32(const std::string& bytes) {
  std::string text;
  uint32_t bits = 0;
  int num_bits = 0;
  const auto append = [&](uint32_t five) {
    text.push_back("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[five & 31]);
  };
  for (const char byte : bytes) {
    bits = bits << 8 | static_cast<uint8_t>(byte);
    num_bits += 8;
    for (; num_bits >= 5; num_bits -= 5) append(bits >> (num_bits - 5));
  }
  if (num_bits > 0) append(bits << (5 - num_bits));
  return text;
}

std::string WithChecksum(std::string bytes) {
  const uint16_t sum = Checksum(bytes);
  bytes.push_back(static_cast<char>(sum & 0xff));
  bytes.push_back(static_cast<char>(sum >> 8));
  return Base32(bytes);
}

}  // namespace

// A pair of Ed25519 keys.
class NatsAuthority::Key {
 public:
  explicit Key(uint8_t kind) : kind_(kind) {
    EVP_PKEY* pair = nullptr;
    EVP_PKEY_CTX* context = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nullptr);
    CHECK(EVP_PKEY_keygen_init(context) == 1);
    CHECK(EVP_PKEY_keygen(context, &pair) == 1);
    EVP_PKEY_CTX_free(context);
    pair_.reset(pair);
  }

  std::string Public() const {
    return WithChecksum(std::string(1, static_cast<char>(kind_)) +
                        Raw(EVP_PKEY_get_raw_public_key));
  }
  std::string Seed() const {
    std::string bytes;
    bytes.push_back(static_cast<char>(kSeed | kind_ >> 5));
    bytes.push_back(static_cast<char>((kind_ & 31) << 3));
    return WithChecksum(bytes + Raw(EVP_PKEY_get_raw_private_key));
  }
  // Returns a signed token with `claims` about `subject`.
  std::string Sign(const std::string& subject,
                   const std::string& claims) const {
    const std::string text = absl::StrCat(
        Encode(R"({"typ":"JWT","alg":"ed25519-nkey"})"), ".",
        Encode(absl::StrCat(R"({"jti":"x","iat":1,"iss":")", Public(),
                            R"(","name":"test","sub":")", subject,
                            R"(","nats":)", claims, "}")));
    std::string signature(2 * kKeySize, '\0');
    size_t size = signature.size();
    EVP_MD_CTX* context = EVP_MD_CTX_new();
    CHECK(EVP_DigestSignInit(context, nullptr, nullptr, nullptr, pair_.get()) ==
          1);
    CHECK(EVP_DigestSign(context, Bytes(&signature), &size,
                         reinterpret_cast<const uint8_t*>(text.data()),
                         text.size()) == 1);
    EVP_MD_CTX_free(context);
    return absl::StrCat(text, ".", Encode(signature));
  }

 private:
  static uint8_t* Bytes(std::string* text) {
    return reinterpret_cast<uint8_t*>(text->data());
  }
  static std::string Encode(const std::string& bytes) {
    std::string text = absl::WebSafeBase64Escape(bytes);
    return text.substr(0, text.find('='));
  }
  std::string Raw(int (*get)(const EVP_PKEY*, uint8_t*, size_t*)) const {
    std::string bytes(kKeySize, '\0');
    size_t size = bytes.size();
    CHECK(get(pair_.get(), Bytes(&bytes), &size) == 1 && size == kKeySize);
    return bytes;
  }

  struct Free {
    void operator()(EVP_PKEY* pair) const { EVP_PKEY_free(pair); }
  };
  const uint8_t kind_;
  std::unique_ptr<EVP_PKEY, Free> pair_;
};

NatsAuthority::NatsAuthority()
    : operator_(std::make_unique<Key>(kOperator)),
      account_(std::make_unique<Key>(kAccount)),
      system_(std::make_unique<Key>(kAccount)) {}

NatsAuthority::~NatsAuthority() = default;

std::string NatsAuthority::ServerConfig() const {
  const auto account = [](const char* storage) {
    return absl::StrCat(
        R"({"limits":{"subs":-1,"data":-1,"payload":-1,"imports":-1,)",
        R"("exports":-1,"wildcards":true,"conn":-1,"leaf":-1,)",
        R"("mem_storage":)", storage, R"(,"disk_storage":)", storage,
        R"(,"streams":)", storage, R"(,"consumer":)", storage,
        R"(},"default_permissions":{"pub":{},"sub":{}},)",
        R"("type":"account","version":2})");
  };
  const std::string name = account_->Public();
  const std::string system = system_->Public();
  return absl::StrCat("operator: ",
                      operator_->Sign(operator_->Public(),
                                      R"({"type":"operator","version":2})"),
                      "\nsystem_account: ", system,
                      "\nresolver: MEMORY\nresolver_preload: {\n  ", name, ": ",
                      operator_->Sign(name, account("-1")), "\n  ", system,
                      ": ", operator_->Sign(system, account("0")), "\n}\n");
}

std::string NatsAuthority::MakeUser(
    const std::vector<std::string>& publish) const {
  const Key user(kUser);
  const std::string token = account_->Sign(
      user.Public(),
      absl::StrCat(R"({"pub":{"allow":[")", absl::StrJoin(publish, "\",\""),
                   R"("]},"sub":{"allow":["_INBOX.>"]},"subs":-1,"data":-1,)",
                   R"("payload":-1,"type":"user","version":2})"));
  return absl::StrCat("-----BEGIN NATS USER JWT-----\n", token,
                      "\n------END NATS USER JWT------\n\n",
                      "-----BEGIN USER NKEY SEED-----\n", user.Seed(),
                      "\n------END USER NKEY SEED------\n");
}

}  // namespace sortition
