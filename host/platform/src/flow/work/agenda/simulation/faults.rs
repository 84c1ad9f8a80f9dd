//! What goes wrong: hosts that die and pause, and a store that is away.

use super::Simulation;

impl Simulation {
    pub(super) fn kill(&mut self, host: usize) {
        self.hosts[host].is_alive = false;
        // Its attempts are over; whatever it held may be begun again when the leases have run out.
        self.items.iter_mut().for_each(|item| item.working = 0);
        self.disturbed(self.now_ms);
    }

    pub(super) fn pause(&mut self, host: usize, pause_ms: u64) {
        let until_ms = self.now_ms + pause_ms;
        self.hosts[host].paused_until_ms = self.hosts[host].paused_until_ms.max(until_ms);
        self.items.iter_mut().for_each(|item| item.working = 0);
        self.disturbed(until_ms);
    }

    pub(super) fn outage(&mut self, outage_ms: u64) {
        // A store that goes again before its hosts have noticed that it was back was away all the time.
        if self.now_ms < self.outage_until_ms + 2000 && self.outage_until_ms > 0 {
            return;
        }
        self.outage_until_ms = self.now_ms + outage_ms;
        self.disturbed(self.outage_until_ms);
    }

    fn disturbed(&mut self, until_ms: u64) {
        self.last_fault_ms = self.last_fault_ms.max(until_ms);
    }
}
