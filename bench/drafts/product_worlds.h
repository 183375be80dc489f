#pragma once
// Two simulated shops whose truth is known, as logs with named columns.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

class ProductWorld {
 public:
  virtual ~ProductWorld() = default;
  virtual std::string name() const = 0;
  // The declaration of a person who knows the truth.
  virtual std::string written_spec() const = 0;
  // Returns a request of kCandidates, and the probability that each sells.
  virtual sortition::v1::Columns MakeQuery(
      RandomSequence* random, std::vector<double>* sells) const = 0;

  static constexpr uint32_t kCandidates = 8;

  // Returns rewarded decisions of the uniform policy: selections, or orders
  // with this many `ranks` that users read from the top. Users stop at the
  // first product that they buy, which is the reward of its rank.
  std::vector<log::v1::BanditTuple> MakeLog(int n, uint64_t seed,
                                            uint32_t ranks = 0) const;

 private:
  static void AddOrder(uint32_t ranks, std::span<const double> sells,
                       RandomSequence* random, log::v1::BanditTuple* tuple);
};

// A search: titles fit the searched words or do not; the best price lies in the
// middle, elsewhere for each segment of users; stars are often missing; what is
// out of stock does not sell.
class SearchShop : public ProductWorld {
 public:
  std::string name() const override { return "search"; }
  std::string written_spec() const override;
  sortition::v1::Columns MakeQuery(RandomSequence* random,
                                   std::vector<double>* sells) const override;
};

// Recommendations: sales have a heavy tail, the cheapest of a page sells
// better, categories go with devices, discounts with stars; half of the
// requests come from a front end that sends no discounts.
class PageShop : public ProductWorld {
 public:
  std::string name() const override { return "page"; }
  std::string written_spec() const override;
  sortition::v1::Columns MakeQuery(RandomSequence* random,
                                   std::vector<double>* sells) const override;
};

}  // namespace sortition
