#ifndef RTLITE_BOARD_H
#define RTLITE_BOARD_H

#define BOARD_NAME "mps2-an385"
#define BOARD_CLOCK "cmsdk-timer0"
#define BOARD_CLOCK_HZ 25000000

#endif
