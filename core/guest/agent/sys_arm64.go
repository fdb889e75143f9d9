package agent

const sysSeccomp = 277
