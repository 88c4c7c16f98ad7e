// Package faults holds experiments that break backends and servers while clients work:
// kills, full disks, slow and cut connections, wrong clocks. docs/faults.md describes
// each. They are tests with the build tag faults, which scripts/faults runs. The service
// does not use this package.
package faults
