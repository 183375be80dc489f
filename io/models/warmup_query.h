#pragma once
// The queries that are stored with a version, for the warm-up of servers.
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Returns the query of `decision` without anything that names or quotes its
// user: a version outlives what `log erase` removes from the log. Ids, unit,
// attributes, action and times are dropped. In columns each character of a text
// that is not white space becomes an x, each category becomes the same made-up
// one, and the numbers of a vector become equal, with the same norm. Numbers
// stay, because a server refuses a version that cannot score numbers of their
// size.
log::v1::Decision WarmupQuery(const log::v1::Decision& decision);

}  // namespace sortition
