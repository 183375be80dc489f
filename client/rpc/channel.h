#pragma once
// Addresses of servers, and connections to them.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/rpc/credentials.h"

namespace grpc {
class Channel;
}  // namespace grpc

namespace sortition {

// Returns a channel that shares its connection with no other one.
std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const Credentials& credentials);

// Returns the addresses in `list`; one of gRPC's own lists is one address.
std::vector<std::string> SplitAddresses(const std::string& list);

// Returns the address of the one server that a call reached, if `address`
// stands for others, too; otherwise nothing. A call that reached none has the
// target of its channel as `peer`.
std::optional<std::string> OneOfSeveral(const std::string& peer,
                                        const std::string& address);

}  // namespace sortition
