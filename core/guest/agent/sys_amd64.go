package agent

const sysSeccomp = 317
