// Command coredns is CoreDNS with the plugins that kubeadm's Corefile names: all of them would take the build of a
// dozen cloud SDKs.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
)

// A query passes the plugins in this order, whatever that of the Corefile; it is the order of upstream's plugin.cfg.
var order = []string{
	"reload", "ready", "health", "prometheus", "errors", "log", "cache", "loadbalance", "hosts", "kubernetes", "loop",
	"forward",
}

func main() {
	dnsserver.Directives = order
	coremain.Run()
}
