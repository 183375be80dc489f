#pragma once
// The share of censored tuples by version and by action. Where it differs, what
// is left is not a fair sample of what was decided.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sortition/log/v1/log.pb.h"

namespace sortition {

// A warning needs a difference between the shares of two groups of at least
// this much, and of at least this many standard errors.
inline constexpr double kMinShareDifference = 0.02;
inline constexpr double kMinStandardErrors = 5;

// Returns the first document of the action by its id, or else its number;
// "none" for an empty action.
std::string FirstAction(const log::v1::Decision& decision);

class CensoredShare {
 public:
  // Counts a tuple that is used, or would be if it were not censored. Actions
  // go by FirstAction().
  void Add(const log::v1::BanditTuple& tuple);

  // Returns a sentence for each of the two, version and action, where one
  // group's share is more than 2 percentage points and 5 standard errors away
  // from that of all. Times of trouble hit all actions alike, but versions and
  // documents that do not live at the same time differently.
  std::vector<std::string> Warnings() const;

 private:
  struct Group {
    uint64_t tuples = 0;
    uint64_t censored = 0;
  };
  using Groups = std::map<std::string, Group>;

  static void Add(bool is_censored, const std::string& key, Groups* groups);
  static void Warn(const char* kind, const Group& all, const Groups& groups,
                   std::vector<std::string>* warnings);

  Group all_;
  Groups versions_;
  Groups actions_;
};

}  // namespace sortition
