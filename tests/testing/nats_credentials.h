#pragma once
// An operator of NATS with one account, whose users show signed credentials.
#include <memory>
#include <string>
#include <vector>

namespace sortition {

class NatsAuthority {
 public:
  NatsAuthority();  // With new keys.
  ~NatsAuthority();

  // Returns what makes a nats-server ask for credentials of this authority.
  std::string ServerConfig() const;

  // Returns the contents of a credentials file of a new user, who may publish
  // to these subjects and hear answers.
  std::string MakeUser(const std::vector<std::string>& publish) const;

 private:
  class Key;

  const std::unique_ptr<const Key> operator_;
  const std::unique_ptr<const Key> account_;
  const std::unique_ptr<const Key> system_;  // The account of the servers.
};

}  // namespace sortition
