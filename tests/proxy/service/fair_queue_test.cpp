#include "proxy/calls/fair_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace polygraph::proxy {
namespace {

using testing::ElementsAre;

struct Order {
  FairQueue queue;
  std::vector<std::string> admitted;
  FairQueue::Ticket wait(const std::string& client, const std::string& name) {
    return queue.wait(client, [this, name] { admitted.push_back(name); });
  }
};

TEST(FairQueue, AdmitsAtOnceWhatHasASlot) {
  Order order{FairQueue(2, 4), {}};
  order.wait("a", "a1");
  order.wait("a", "a2");
  order.wait("a", "a3");
  EXPECT_THAT(order.admitted, ElementsAre("a1", "a2"));
  order.queue.release();
  EXPECT_THAT(order.admitted, ElementsAre("a1", "a2", "a3"));
}

TEST(FairQueue, ServesClientByClientInTurn) {
  Order order{FairQueue(1, 10), {}};
  for (const char* name : {"a1", "a2", "a3", "a4"}) order.wait("a", name);
  order.wait("b", "b1");
  order.wait("b", "b2");
  order.wait("c", "c1");
  for (int i = 0; i < 6; ++i) order.queue.release();
  EXPECT_THAT(order.admitted, ElementsAre("a1", "a2", "b1", "c1", "a3", "b2", "a4"));
}

TEST(FairQueue, RefusesWhatHasNoPlace) {
  Order order{FairQueue(1, 1), {}};
  EXPECT_NE(order.wait("a", "a1"), 0U);
  EXPECT_NE(order.wait("a", "a2"), 0U);
  EXPECT_EQ(order.wait("b", "b1"), 0U);
  order.queue.release();
  EXPECT_NE(order.wait("b", "b2"), 0U);
}

TEST(FairQueue, WhoLeavesIsNotAdmitted) {
  Order order{FairQueue(1, 4), {}};
  const auto first = order.wait("a", "a1");
  const auto second = order.wait("a", "a2");
  order.wait("b", "b1");
  EXPECT_FALSE(order.queue.leave(first)) << "has its slot already";
  EXPECT_TRUE(order.queue.leave(second));
  EXPECT_EQ(order.queue.waiting(), 1U);
  order.queue.release();
  EXPECT_THAT(order.admitted, ElementsAre("a1", "b1"));
}

}  // namespace
}  // namespace polygraph::proxy
