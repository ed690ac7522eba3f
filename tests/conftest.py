"""For every tier: no test is judged by how long the machine took."""

from hypothesis import HealthCheck, settings

settings.register_profile("rtassay", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("rtassay")
