#pragma once
// Root writes into stores of others, too: what it makes there must belong to
// them, or they could not publish any more.
#include <string>

namespace sortition {

// While it lives, this thread of root makes and opens files as the owner of
// `store` (of the nearest folder above it that exists, where it does not). Does
// nothing for others, and where root is the owner.
class AsStoreOwner {
 public:
  explicit AsStoreOwner(const std::string& store);
  ~AsStoreOwner();
  AsStoreOwner(const AsStoreOwner&) = delete;
  AsStoreOwner& operator=(const AsStoreOwner&) = delete;

 private:
  bool is_other_ = false;
};

}  // namespace sortition
